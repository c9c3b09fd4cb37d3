package httpapi

import (
	"html"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// plainDocs writes the description as the body of a page that needs no script.
func plainDocs(tree *jsontree.Node) string {
	d := &docs{tree: tree}
	d.raw("<nav><ul>")
	for _, tag := range items(tree.Get("tags")) {
		name := d.text(tag.Get("name"))
		d.raw("<li><b>", html.EscapeString(name), "</b><ul>")
		d.eachOperation(name, func(method, path string, node *jsontree.Node) {
			d.raw("<li><a href=\"#", html.EscapeString(d.text(node.Get("operationId"))), "\"><span>", method, "</span> ", html.EscapeString(path), "</a></li>")
		})
		d.raw("</ul></li>\n")
	}
	d.raw("</ul></nav>\n")
	d.raw("<main><h1>", html.EscapeString(d.text(tree.At("/info/title"))), "</h1>\n<p>Base address: <code>",
		html.EscapeString(d.text(tree.At("/servers/0/url"))), "</code></p>\n")
	d.prose(d.text(tree.At("/info/description")))
	for _, tag := range items(tree.Get("tags")) {
		name := d.text(tag.Get("name"))
		d.raw("<h2>", html.EscapeString(name), "</h2>\n")
		d.prose(d.text(tag.Get("description")))
		d.eachOperation(name, d.operation)
	}
	d.schemas()
	d.raw("</main>\n")
	return d.out.String()
}

type docs struct {
	tree *jsontree.Node
	out  strings.Builder
}

// raw writes text that is HTML already.
func (d *docs) raw(parts ...string) {
	for _, part := range parts {
		d.out.WriteString(part)
	}
}

func (d *docs) text(node *jsontree.Node) string {
	text, _ := node.Text()
	return text
}

// target follows a reference and says what it is called.
func (d *docs) target(node *jsontree.Node) (target *jsontree.Node, name string) {
	pointer, ok := node.Get("$ref").Text()
	if !ok {
		return node, ""
	}
	return d.tree.At(strings.TrimPrefix(pointer, "#")), pointer[strings.LastIndex(pointer, "/")+1:]
}

func (d *docs) eachOperation(tag string, show func(method, path string, node *jsontree.Node)) {
	for _, p := range members(d.tree.Get("paths")) {
		for _, method := range methods {
			node := p.Value.Get(method)
			if node != nil && d.text(node.At("/tags/0")) == tag {
				show(strings.ToUpper(method), p.Name, node)
			}
		}
	}
}

func (d *docs) operation(method, path string, node *jsontree.Node) {
	d.raw("<section id=\"", html.EscapeString(d.text(node.Get("operationId"))), "\"><h3><code>", method, " ", html.EscapeString(path), "</code> ",
		html.EscapeString(d.text(node.Get("summary"))), "</h3>\n")
	d.prose(d.text(node.Get("description")))
	if list := items(node.Get("parameters")); len(list) > 0 {
		d.raw("<h4>Parameters</h4>\n<table>")
		for _, item := range list {
			p, _ := d.target(item)
			d.row(d.text(p.Get("name"))+" ("+d.text(p.Get("in"))+")", p.Get("schema"), d.text(p.Get("description")))
		}
		d.raw("</table>\n")
	}
	if body := node.At("/requestBody/content/application~1json"); body != nil {
		d.raw("<h4>Body</h4>\n<p>")
		d.schemaName(body.Get("schema"))
		d.raw("</p>\n")
		d.examples(body)
	}
	d.responses(node.Get("responses"))
	d.raw("</section>\n")
}

func (d *docs) row(name string, schema *jsontree.Node, description string) {
	d.raw("<tr><td><code>", html.EscapeString(name), "</code></td><td>")
	d.schemaName(schema)
	d.raw("</td><td>")
	d.prose(description)
	d.raw("</td></tr>\n")
}

// responses shows the success in full and of the refusals what they mean.
func (d *docs) responses(list *jsontree.Node) {
	d.raw("<h4>Answers</h4>\n")
	for _, m := range members(list) {
		response, _ := d.target(m.Value)
		d.raw("<details", map[bool]string{true: " open"}[m.Name == "200"], "><summary><b>", html.EscapeString(m.Name), "</b> ")
		description := d.text(response.Get("description"))
		first := description
		if end := strings.Index(description, ". "); end >= 0 {
			first = description[:end+1]
		}
		d.inline(first)
		d.raw("</summary>\n")
		d.prose(description)
		for _, content := range members(response.Get("content")) {
			d.raw("<p>", html.EscapeString(content.Name), " ")
			d.schemaName(content.Value.Get("schema"))
			d.raw("</p>\n")
			d.examples(content.Value)
		}
		d.raw("</details>\n")
	}
}

func (d *docs) examples(content *jsontree.Node) {
	if example := content.Get("example"); example != nil {
		d.example("", example)
	}
	for _, m := range members(content.Get("examples")) {
		d.example(d.text(m.Value.Get("summary")), m.Value.Get("value"))
	}
}

func (d *docs) example(summary string, value *jsontree.Node) {
	if summary != "" {
		d.raw("<p>")
		d.inline(summary)
		d.raw("</p>")
	}
	d.raw("<pre tabindex=\"0\">", html.EscapeString(string(value.Encode())), "</pre>\n")
}

func (d *docs) schemas() {
	d.raw("<h2>Shapes</h2>\n")
	for _, m := range members(d.tree.At("/components/schemas")) {
		d.raw("<section id=\"shape-", html.EscapeString(m.Name), "\"><h3>", html.EscapeString(m.Name), "</h3>\n")
		d.prose(d.text(m.Value.Get("description")))
		if fields := members(m.Value.Get("properties")); len(fields) > 0 {
			d.fields(m.Value, fields)
		} else {
			d.raw("<p>")
			d.schemaName(m.Value)
			d.raw("</p>\n")
		}
		d.raw("</section>\n")
	}
}

func (d *docs) fields(schema *jsontree.Node, fields []jsontree.Member) {
	required := map[string]bool{}
	for _, name := range items(schema.Get("required")) {
		required[d.text(name)] = true
	}
	d.raw("<table>")
	for _, m := range fields {
		name := m.Name
		if !required[name] {
			name += "?"
		}
		d.row(name, m.Value, d.text(m.Value.Get("description")))
	}
	d.raw("</table>\n")
}

// schemaName says in a word or two what fits a schema.
func (d *docs) schemaName(schema *jsontree.Node) {
	if _, name := d.target(schema); name != "" {
		d.raw("<a href=\"#shape-", html.EscapeString(name), "\">", html.EscapeString(name), "</a>")
		return
	}
	for i, form := range items(schema.Get("anyOf")) {
		if i > 0 {
			d.raw(" or ")
		}
		d.schemaName(form)
	}
	if list := schema.Get("items"); list != nil {
		d.raw("array of ")
		d.schemaName(list)
		return
	}
	d.raw(html.EscapeString(typeName(schema)))
	if values := items(schema.Get("enum")); len(values) > 0 {
		d.raw(": ")
		for i, value := range values {
			d.raw(map[bool]string{true: ", "}[i > 0], "<code>", html.EscapeString(d.text(value)), "</code>")
		}
	}
}

func typeName(schema *jsontree.Node) string {
	if name, ok := schema.Get("type").Text(); ok {
		return name
	}
	var names []string
	for _, item := range items(schema.Get("type")) {
		name, _ := item.Text()
		names = append(names, name)
	}
	if len(names) > 0 {
		return strings.Join(names, " or ")
	}
	if schema.Get("anyOf") != nil {
		return ""
	}
	return "any JSON"
}

// prose writes the little of Markdown that the description uses: headings,
// lists, paragraphs and code.
func (d *docs) prose(text string) {
	list := false
	for _, line := range strings.Split(text, "\n") {
		item, isItem := strings.CutPrefix(line, "- ")
		if list && !isItem {
			d.raw("</ul>\n")
		}
		if isItem && !list {
			d.raw("<ul>")
		}
		list = isItem
		heading, isHeading := strings.CutPrefix(line, "## ")
		switch {
		case isItem:
			d.element("li", item)
		case isHeading:
			d.element("h2", heading)
		case line != "":
			d.element("p", line)
		}
	}
	if list {
		d.raw("</ul>\n")
	}
}

func (d *docs) element(name, text string) {
	d.raw("<", name, ">")
	d.inline(text)
	d.raw("</", name, ">\n")
}

// inline writes a line; what stands between backquotes is code.
func (d *docs) inline(text string) {
	for i, part := range strings.Split(text, "`") {
		if i%2 == 0 {
			d.raw(html.EscapeString(part))
		} else {
			d.raw("<code>", html.EscapeString(part), "</code>")
		}
	}
}

const plainStyle = `
:root{color-scheme:light dark;--line:#8884;--soft:#8881}
#reference{display:none}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:0 1rem;overflow-wrap:anywhere}
code,pre{font:.875em/1.45 ui-monospace,monospace}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:.75rem;overflow:auto;overflow-wrap:normal}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;vertical-align:top}
td p{margin:0}
section{border-top:1px solid var(--line);padding:.25rem 0 1rem}
summary{cursor:pointer;padding:.15rem 0}
nav ul{list-style:none;padding-left:.75rem;margin:0}
nav li{margin:.2rem 0}
nav span{display:inline-block;font:.75em ui-monospace,monospace;min-width:3.2rem}
@media (min-width:60rem){body{display:grid;grid-template-columns:20rem minmax(0,1fr);gap:2rem}nav{position:sticky;top:0;height:100vh;overflow:auto;font-size:.85rem;padding:1rem 0}}
`

package httpapi

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// parameter is a query parameter with the part of JSON Schema that it uses.
type parameter struct {
	name string
	kind string // string, integer or boolean
	// emptyIsAbsent: the parameter with nothing behind it counts as left out.
	emptyIsAbsent bool
	enum          []string
	least, most   *int64
	pattern       *regexp.Regexp
	message       string // what would be right; "" for our own words
}

// readParameter reads what a parameter is checked for.
func readParameter(node *jsontree.Node) parameter {
	var p parameter
	p.name, _ = node.Get("name").Text()
	p.emptyIsAbsent, _ = node.Get("allowEmptyValue").Bool()
	schema := node.Get("schema")
	p.message, _ = schema.Get("x-error-message").Text()
	p.kind, _ = schema.Get("type").Text()
	if pattern, given := schema.Get("pattern").Text(); given {
		p.pattern = regexp.MustCompile(pattern)
	}
	p.least, p.most = bound(schema.Get("minimum")), bound(schema.Get("maximum"))
	for _, value := range schema.Get("enum").Elements() {
		text, _ := value.Text()
		p.enum = append(p.enum, text)
	}
	return p
}

// bound is a whole number, nil for none.
func bound(value *jsontree.Node) *int64 {
	n, err := strconv.ParseInt(value.Literal(), 10, 64)
	return optional(n, err == nil)
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// problem says why a value is not one of the parameter's, or "".
func (p *parameter) problem(value string) string {
	switch {
	case p.kind == "integer" && !p.holdsNumber(value),
		p.kind == "boolean" && value != "true" && value != "false",
		p.pattern != nil && !p.pattern.MatchString(value):
		if p.message == "" {
			return p.name + " is not of the form that it needs"
		}
		return p.message
	case p.enum != nil && !slices.Contains(p.enum, value):
		return p.name + " is one of " + join(p.enum)
	}
	return ""
}

func (p *parameter) holdsNumber(value string) bool {
	if !wholeNumber.MatchString(value) {
		return false
	}
	n, _ := strconv.ParseInt(value, 10, 64)
	return (p.least == nil || n >= *p.least) && (p.most == nil || n <= *p.most)
}

// query is the parameters of a request that are there and in order.
type query map[string]string

// isText reports whether a query is UTF-8 once its escapes are undone.
func isText(sent url.Values) bool {
	for name, values := range sent {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return true
}

// readQuery reads a request's query. A write refuses parameters that it does
// not know: a mistyped dryRun must not write.
func (o *operation) readQuery(raw string) (query, []document.Issue) {
	if raw == "" { // none of the parameters has to be there
		return nil, nil
	}
	sent, err := url.ParseQuery(raw)
	if err != nil || !isText(sent) {
		return nil, []document.Issue{{Pointer: "?", Message: "the query string cannot be read: it is name=value, joined by &, with percent-encoding in UTF-8"}}
	}
	q := query{}
	var issues []document.Issue
	for i := range o.query {
		p := &o.query[i]
		values, present := sent[p.name]
		delete(sent, p.name)
		if !present || p.emptyIsAbsent && len(values) == 1 && values[0] == "" {
			continue
		}
		problem := p.name + " is there twice; send it once"
		if len(values) == 1 {
			problem = p.problem(values[0])
		}
		if problem != "" {
			issues = append(issues, document.Issue{Pointer: "?" + p.name, Message: problem})
			continue
		}
		q[p.name] = values[0]
	}
	if o.writes() {
		issues = append(issues, o.unknown(sent)...)
	}
	return q, issues
}

func (o *operation) unknown(rest url.Values) []document.Issue {
	var names []string
	for _, p := range o.query {
		names = append(names, p.name)
	}
	var issues []document.Issue
	for name := range rest {
		issues = append(issues, document.Issue{Pointer: "?" + brief(name), Message: "unknown query parameter; known are " + join(names)})
	}
	slices.SortStableFunc(issues, func(a, b document.Issue) int { return strings.Compare(a.Pointer, b.Pointer) })
	return issues
}

// text is a parameter, nil when it is not there.
func (q query) text(name string) *string {
	text, given := q[name]
	return optional(text, given)
}

// number is a whole number, nil when it is not there.
func (q query) number(name string) *int {
	n, err := strconv.Atoi(q[name])
	return optional(n, err == nil)
}

func join(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// brief cuts a name that may be as long as its author liked.
func brief(name string) string { return terminal.Cut(name, 100) }

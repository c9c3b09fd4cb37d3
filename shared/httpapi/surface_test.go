package httpapi_test

import (
	"cmp"
	_ "embed"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/requestid"
)

// surface is what the description promises to programs, one fact a line:
// everything but prose, examples and links. What a request must be begins with
// >, what an answer is with <.
func surface(tree *jsontree.Node) []string {
	s := &surfacer{tree: tree, facts: map[string]bool{}}
	for _, p := range tree.Get("paths").Members {
		for _, m := range p.Value.Members {
			if m.Value.Get("operationId") != nil {
				s.operation(strings.ToUpper(m.Name)+" "+p.Name, m.Value)
			}
		}
	}
	var lines []string
	for fact := range s.facts {
		lines = append(lines, fact)
	}
	slices.Sort(lines)
	return lines
}

type surfacer struct {
	tree  *jsontree.Node
	facts map[string]bool
}

func (s *surfacer) say(format string, args ...any) { s.facts[fmt.Sprintf(format, args...)] = true }

func (s *surfacer) follow(n *jsontree.Node) *jsontree.Node {
	if pointer, ok := n.Get("$ref").Text(); ok {
		return s.tree.At(strings.TrimPrefix(pointer, "#"))
	}
	return n
}

func (s *surfacer) operation(name string, o *jsontree.Node) {
	s.say("< %s: operation %s", name, textOf(o.Get("operationId")))
	if security := o.Get("security"); security != nil {
		s.say("< %s: security %s", name, security.Compact())
	}
	if parameters := o.Get("parameters"); parameters != nil {
		for _, item := range parameters.Items {
			p := s.follow(item)
			where := fmt.Sprintf("> %s ?%s", name, textOf(p.Get("name")))
			s.presence(where, p.Get("required"))
			s.schema(where, p.Get("schema"))
		}
	}
	if body := o.Get("requestBody"); body != nil {
		s.content("> "+name, body.Get("content"))
	}
	for _, r := range o.Get("responses").Members {
		s.response(fmt.Sprintf("< %s %s", name, r.Name), r.Value)
	}
}

func (s *surfacer) response(where string, r *jsontree.Node) {
	if pointer, ok := r.Get("$ref").Text(); ok {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		s.say("%s: is the answer %s", where, name)
		where = "< the answer " + name
	}
	s.say("%s: answer", where)
	r = s.follow(r)
	if headers := r.Get("headers"); headers != nil {
		for _, h := range headers.Members {
			s.say("%s: header %s", where, h.Name)
		}
	}
	s.content(where, r.Get("content"))
}

func (s *surfacer) content(where string, content *jsontree.Node) {
	if content == nil {
		return
	}
	for _, m := range content.Members {
		s.schema(where+" "+m.Name, m.Value.Get("schema"))
	}
}

func (s *surfacer) presence(where string, required *jsontree.Node) {
	if yes, _ := required.Bool(); yes {
		s.say("%s: required", where)
	} else {
		s.say("%s: optional", where)
	}
}

// prose is what a program does not depend on.
var prose = []string{"description", "examples", "x-error-message", "required", "title"}

// schema says what a schema demands. One with a name is said once for requests
// and once for answers, under its name.
func (s *surfacer) schema(where string, n *jsontree.Node) {
	if pointer, ok := n.Get("$ref").Text(); ok {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		s.say("%s: is %s", where, name)
		where = where[:2] + name
		if !s.facts[where+": schema"] {
			s.say("%s: schema", where)
			s.schema(where, s.follow(n))
		}
		return
	}
	for _, m := range n.Members {
		switch {
		case slices.Contains(prose, m.Name):
		case m.Name == "properties":
			for _, p := range m.Value.Members {
				s.presence(where+"."+p.Name, jsontree.NewBool(requires(n, p.Name)))
				s.schema(where+"."+p.Name, p.Value)
			}
		case m.Name == "items":
			s.schema(where+"[]", m.Value)
		case m.Name == "additionalProperties" && m.Value.Kind == jsontree.Object:
			s.schema(where+".*", m.Value)
		case m.Name == "enum":
			for _, value := range m.Value.Items {
				s.say("%s: enum %s", where, value.Compact())
			}
		case m.Name == "anyOf":
			for i, form := range m.Value.Items {
				s.schema(fmt.Sprintf("%s(%d)", where, i), form)
			}
		default:
			s.say("%s: %s %s", where, m.Name, m.Value.Compact())
		}
	}
}

func requires(schema *jsontree.Node, name string) bool {
	required := schema.Get("required")
	return required != nil && slices.ContainsFunc(required.Items, func(n *jsontree.Node) bool { return textOf(n) == name })
}

// narrowing are the words of a schema that only narrow what fits.
var narrowing = []string{"required", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "multipleOf", "if", "then", "else", "additionalProperties"}

// breaking picks the facts for which a client of the old surface may fail
// against the new one. A request may ask for less and never for more; an
// answer may hold more and never less.
func breaking(before, after []string) []string {
	old, now := setOf(before), setOf(after)
	var broken []string
	for _, fact := range before {
		if !now[fact] && !(strings.HasPrefix(fact, "> ") && (slices.Contains(narrowing, word(fact)) || offers(after, fact))) {
			broken = append(broken, "gone: "+fact)
		}
	}
	for _, fact := range after {
		if old[fact] {
			continue
		}
		asks := strings.HasPrefix(fact, "> ") && slices.Contains(narrowing, word(fact)) && (known(before, fact) || word(fact) == "required" && knownOwner(before, fact)) && !widens(before, fact)
		if opens := strings.HasPrefix(fact, "< ") && word(fact) == "enum" && known(before, fact); asks || opens {
			broken = append(broken, "new: "+fact)
		}
	}
	return broken
}

func setOf(facts []string) map[string]bool {
	set := map[string]bool{}
	for _, fact := range facts {
		set[fact] = true
	}
	return set
}

// word is what a fact is about: what stands behind the place.
func word(fact string) string {
	_, rest, _ := strings.Cut(fact, ": ")
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// known reports whether the place that a fact is about was there before.
func known(before []string, fact string) bool {
	place, _, _ := strings.Cut(fact, ": ")
	return slices.ContainsFunc(before, func(old string) bool { return strings.HasPrefix(old, place+": ") })
}

// knownOwner reports whether what has the field that a fact is about was there before:
// whatever a new schema requires, nobody has sent it yet.
func knownOwner(before []string, fact string) bool {
	place, _, _ := strings.Cut(fact, ": ")
	owner := place[:strings.LastIndexAny(place, ". ")+1]
	return slices.ContainsFunc(before, func(old string) bool { return strings.HasPrefix(old, owner) })
}

// offers reports whether a request may still be each of the forms that a fact names.
func offers(after []string, fact string) bool {
	if name := word(fact); name != "oneOf" && name != "discriminator" {
		return false
	}
	start, forms, _ := strings.Cut(fact, word(fact)+" ")
	return slices.ContainsFunc(after, func(now string) bool {
		rest, same := strings.CutPrefix(now, start+word(fact)+" ")
		return same && !slices.ContainsFunc(strings.FieldsFunc(forms, func(r rune) bool { return strings.ContainsRune("[]{},", r) }), func(form string) bool { return !strings.Contains(rest, form) })
	})
}

// widens reports whether a bound has moved outwards. Which fields of a body exclude each
// other, where some did already, is for people to look at.
func widens(before []string, fact string) bool {
	start, bound, _ := strings.Cut(fact, word(fact)+" ")
	outwards, isBound := map[string]int{"minimum": -1, "minLength": -1, "minItems": -1, "maximum": 1, "maxLength": 1}[word(fact)]
	i := slices.IndexFunc(before, func(old string) bool { return strings.HasPrefix(old, start+word(fact)+" ") })
	if i >= 0 && slices.Contains([]string{"if", "then", "else"}, word(fact)) {
		return true
	}
	if !isBound || i < 0 {
		return false
	}
	old, errOld := strconv.ParseFloat(strings.TrimPrefix(before[i], start+word(fact)+" "), 64)
	new, errNew := strconv.ParseFloat(bound, 64)
	return errOld == nil && errNew == nil && cmp.Compare(new, old) == outwards
}

//go:embed openapi.json
var openapi string

// spec is the description as the tests read it: on their own, not through the
// code that they test.
var spec = sync.OnceValue(func() *jsontree.Node {
	tree, err := jsontree.Parse([]byte(openapi))
	if err != nil {
		panic(err)
	}
	return tree
})

// closed is the description's schemas with no room for fields that are not
// described: v1 may grow, but not by accident.
var closed = sync.OnceValue(func() *jsontree.Node {
	schemas := spec().At("/components/schemas").Clone()
	for _, m := range schemas.Members {
		shut(m.Value)
	}
	schemas.At("/Error/properties/details").Set("additionalProperties", jsontree.NewBool(false))
	return schemas
})

func shut(n *jsontree.Node) {
	if n.Get("properties") != nil && n.Get("additionalProperties") == nil && n.Get("type") != nil {
		n.Set("additionalProperties", jsontree.NewBool(false))
	}
	for _, m := range n.Members {
		shut(m.Value)
	}
	for _, item := range n.Items {
		shut(item)
	}
}

var compiled sync.Map // by the schema's text

// closedSchema compiles a schema of the description, closed.
func closedSchema(t testing.TB, schema *jsontree.Node) *document.Schema {
	t.Helper()
	name := string(schema.Compact())
	if s, known := compiled.Load(name); known {
		return s.(*document.Schema)
	}
	root := schema.Clone()
	root.Set("components", jsontree.NewObject(jsontree.Field("schemas", closed())))
	s, issues := document.CompileSchema(root)
	if len(issues) > 0 {
		t.Fatalf("the schema %s: %v", name, issues)
	}
	compiled.Store(name, s)
	return s
}

func deref(n *jsontree.Node) *jsontree.Node {
	if pointer, ok := n.Get("$ref").Text(); ok {
		return spec().At(strings.TrimPrefix(pointer, "#"))
	}
	return n
}

// find is the operation that a request is for, and the path's item.
func find(r *http.Request) (item, operation *jsontree.Node) {
	path, found := strings.CutPrefix(r.URL.EscapedPath(), "/v1")
	if !found {
		path = r.URL.EscapedPath()
	}
	sent := strings.Split(path, "/")
	for _, p := range spec().Get("paths").Members {
		want := strings.Split(p.Name, "/")
		same := len(want) == len(sent)
		for i := range want {
			same = same && (want[i] == sent[i] || strings.HasPrefix(want[i], "{") && sent[i] != "")
		}
		if same && found != (p.Value.Get("servers") != nil) {
			method := strings.ToLower(r.Method)
			if method == "head" {
				method = "get"
			}
			return p.Value, p.Value.Get(method)
		}
	}
	return nil, nil
}

var seen sync.Map // operationId and status of every answer that was checked

// conforms holds an answer against the description.
func conforms(t testing.TB, r *http.Request, a *reply) {
	t.Helper()
	if id := a.header.Get("X-Request-Id"); !requestid.Valid(id) && id != r.Header.Get("X-Request-Id") {
		t.Errorf("%s %s: X-Request-Id is %q", r.Method, r.URL, id)
	}
	path, operation := find(r)
	if operation == nil && path != nil { // whose operations word refusals the same
		i := slices.IndexFunc(path.Members, func(m jsontree.Member) bool { return m.Value.Get("operationId") != nil })
		operation = path.Members[i].Value
	}
	if operation == nil {
		operation = spec().At("/paths/~1whoami/get") // an envelope is the same everywhere
		if !slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests}, a.status) {
			t.Errorf("%s %s: status %d for an operation that is not described", r.Method, r.URL, a.status)
		}
	}
	id, _ := operation.Get("operationId").Text()
	status := strconv.Itoa(a.status)
	described := operation.Get("responses").Get(status)
	if described == nil {
		t.Errorf("%s %s: %s does not describe the status %d: %s", r.Method, r.URL, id, a.status, a.body)
		return
	}
	seen.Store(id+" "+status, true)
	conformsTo(t, fmt.Sprintf("%s %s: %d", r.Method, r.URL, a.status), deref(described), r, a)
}

func conformsTo(t testing.TB, what string, described *jsontree.Node, r *http.Request, a *reply) {
	t.Helper()
	for _, h := range described.Get("headers").Members {
		if required, _ := deref(h.Value).Get("required").Bool(); required && a.header.Get(h.Name) == "" {
			t.Errorf("%s: no header %s", what, h.Name)
		}
	}
	if a.header.Get("Idempotency-Truncated") != "" {
		return // the header is what describes the body
	}
	for name := range a.header {
		known := slices.ContainsFunc(described.Get("headers").Members, func(m jsontree.Member) bool { return strings.EqualFold(m.Name, name) })
		if !known && !slices.Contains(undescribed, name) {
			t.Errorf("%s: the header %s is not described", what, name)
		}
	}
	content := described.Get("content")
	if content == nil || r.Method == http.MethodHead {
		if len(a.body) > 0 {
			t.Errorf("%s: a body: %s", what, a.body)
		}
		return
	}
	mediaType, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	schema := content.Get(mediaType).Get("schema")
	if schema == nil {
		t.Errorf("%s: the content type %q is not described", what, mediaType)
		return
	}
	if !strings.HasSuffix(mediaType, "json") {
		return
	}
	tree, err := jsontree.Parse(a.body)
	if err != nil {
		t.Errorf("%s: not JSON: %v", what, err)
		return
	}
	for _, issue := range closedSchema(t, schema).Check(tree) {
		t.Errorf("%s: %s: %s\n%s", what, issue.Pointer, issue.Message, a.body)
	}
}

// undescribed are headers that HTTP itself speaks of.
var undescribed = []string{"Content-Type", "Content-Length", "Content-Encoding", "Cache-Control", "X-Content-Type-Options", "Content-Security-Policy"}

// every visits the description's operations.
func every(visit func(path, method string, operation *jsontree.Node)) {
	for _, p := range spec().Get("paths").Members {
		for _, m := range p.Value.Members {
			if m.Value.Get("operationId") != nil {
				visit(p.Name, m.Name, m.Value)
			}
		}
	}
}

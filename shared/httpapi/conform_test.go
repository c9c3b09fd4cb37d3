package httpapi_test

import (
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

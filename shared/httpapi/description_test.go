package httpapi

import (
	"maps"
	"net/http/httptest"
	"slices"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/jsontree"
)

// TestEveryEndpointIsDescribedAndHandled: the table of endpoints, the description and the
// handlers have the same operations.
func TestEveryEndpointIsDescribedAndHandled(t *testing.T) {
	described, handlers := maps.Clone(described().operations), map[string]handler{}
	for _, g := range All() {
		maps.Copy(handlers, g.handlers)
	}
	for _, e := range endpoints.REST {
		if handlers[e.Operation] == nil {
			t.Errorf("%s: no handler", e.Operation)
		}
		delete(handlers, e.Operation)
		if o := described[e.Operation]; e != endpoints.DocsFile && (o == nil || o.Method != e.Method || o.Path != e.Path || o.Group != e.Group || o.Keys != e.Keys) {
			t.Errorf("%s: the description has %+v", e.Operation, o)
		}
		delete(described, e.Operation)
	}
	if len(handlers)+len(described) > 0 {
		t.Errorf("not in the table of endpoints: handlers %v, descriptions %v", slices.Collect(maps.Keys(handlers)), slices.Collect(maps.Keys(described)))
	}
}

// TestAllThatIsDescribedOfARequestIsChecked: another keyword would be described and not be
// so.
func TestAllThatIsDescribedOfARequestIsChecked(t *testing.T) {
	checked := []string{"description", "default", "examples", "format", "x-error-message", "type", "pattern", "minimum", "maximum", "enum"}
	var parameters func(n *jsontree.Node)
	parameters = func(n *jsontree.Node) {
		if in, _ := n.Get("in").Text(); in == "query" {
			for _, m := range members(n.Get("schema")) {
				if !slices.Contains(checked, m.Name) || m.Name[:1] == "m" && bound(m.Value) == nil {
					name, _ := n.Get("name").Text()
					t.Errorf("the parameter %s: %s %s is not checked", name, m.Name, m.Value.Compact())
				}
			}
		}
		for _, m := range n.Members {
			parameters(m.Value)
		}
		for _, item := range n.Items {
			parameters(item)
		}
	}
	parameters(described().tree)
	bodies := maps.Clone(described().changes)
	for id, o := range described().operations {
		if o.body != nil {
			bodies[id] = o.body
		}
	}
	for id, b := range bodies {
		if _, err := b.schema(); err != nil || len(b.fields) == 0 {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAGroupServesOnlyItself(t *testing.T) {
	h, err := New(Options{Service: control.New(control.Settings{}), BasePath: "/api/v1"}, Segments())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/api/v1/segments": 401, "/api/v1/flags": 404, "/v1/segments": 404, "/api/v1": 404, "/api/v1/openapi.json": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

package httpapi

import (
	"maps"
	"net/http/httptest"
	"slices"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
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

// TestEverySchemaOfARequestCanBeChecked.
func TestEverySchemaOfARequestCanBeChecked(t *testing.T) {
	bodies := maps.Clone(described().changes)
	for id, o := range described().operations {
		if o.body != nil {
			bodies[id] = o.body
		}
		for _, p := range o.query {
			if _, err := p.schema(); err != nil {
				t.Errorf("%s: %s: %v", id, p.name, err)
			}
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

package httpapi

import (
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
)

func TestBindingIsOneToOne(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	service := control.New(control.Settings{})
	without := func(g Group, id string) Group { delete(g.handlers, id); return g }
	with := func(g Group, id string) Group { g.handlers[id] = nil; return g }
	elsewhere := *d
	elsewhere.operations = maps.Clone(d.operations)
	moved := *d.operations["listSegments"]
	moved.Path = "/v1/segment"
	elsewhere.operations["listSegments"] = &moved
	if _, err := newServer(&elsewhere, Options{Service: service}, []Group{Segments()}); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("a path that is not the described one: %v", err)
	}
	renamed := Segments()
	renamed.handlers["getSegmentt"] = renamed.handlers["getSegment"]
	for _, c := range []struct {
		name    string
		options Options
		groups  []Group
		want    string
	}{
		{"all", Options{Service: service}, All(), ""},
		{"the reference alone, without a service", Options{}, []Group{Reference()}, ""},
		{"a missing handler", Options{Service: service}, []Group{without(Flags(), "listFlags")}, "listFlags"},
		{"a nil handler", Options{Service: service}, []Group{with(Flags(), "listFlags")}, "listFlags"},
		{"a superfluous handler", Options{Service: service}, []Group{renamed}, "does not have"},
		{"a group that is not described", Options{Service: service}, []Group{{"billing", map[string]handler{"pay": nil}}}, "does not have"},
		{"no service", Options{}, []Group{Flags()}, "Options.Service"},
		{"a base path without the version", Options{Service: service, BasePath: "/api"}, All(), "/v1"},
	} {
		_, err := newServer(d, c.options, c.groups)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
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

func TestBrokenDescriptions(t *testing.T) {
	const good = `{"paths": {"/a/{key}": {"get": {"operationId": "a", "tags": ["x"], "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}]}}}}`
	if _, err := readDescription([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`{"paths"`, `{{"paths"`, "openapi.json"},
		{`"operationId": "a", `, ``, "operationId"},
		{`["x"]`, `["x", "y"]`, "tag"},
		{`"type": "string"`, `"type": "string", "maxLength": 3`, "maxLength"},
		{`"type": "string"`, `"type": "string", "pattern": "("`, "pattern"},
		{`"type": "string"`, `"type": "integer", "minimum": 1.5`, "minimum"},
		{`"parameters"`, `"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}, "parameters"`, "properties"},
		{`}}}}`, `}, "put": {"operationId": "a", "tags": ["x"]}}}}`, "twice"},
		{`{"name": "q", "in": "query", "schema": {"type": "string"}}`, `{"$ref": "#/nowhere"}`, "nowhere"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, err := readDescription([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestEveryOperationIsAnEndpoint: the description has nothing that is not
// served. That it has all that is served is looked at when a group starts.
func TestEveryOperationIsAnEndpoint(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	for id := range d.operations {
		if !slices.ContainsFunc(endpoints.REST, func(e endpoints.Endpoint) bool { return e.Operation == id }) {
			t.Errorf("%s is in openapi.json and not in the table of endpoints", id)
		}
	}
}

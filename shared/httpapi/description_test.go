package httpapi

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// TestEveryOperationIsHandled: the description and the handlers have the same operations.
func TestEveryOperationIsHandled(t *testing.T) {
	handlers := map[string]handler{}
	for _, g := range All() {
		maps.Copy(handlers, g.handlers)
		for operation := range g.handlers {
			if o := described().operations[operation]; o == nil || o.Group != g.tag {
				t.Errorf("%s of the group %s: the description has %+v", operation, g.tag, o)
			}
		}
	}
	for operation := range described().operations {
		if handlers[operation] == nil {
			t.Errorf("%s: no handler", operation)
		}
	}
}

func TestEndpointsAreConsistent(t *testing.T) {
	var mux http.ServeMux
	operations, behind := map[string]bool{}, map[string]string{}
	for _, e := range slices.Concat(Endpoints(), endpoints.ForPeople, endpoints.ForApplications) {
		mux.Handle(e.Method+" "+e.Path, http.NotFoundHandler()) // which panics when two are for one path
		if operations[e.Operation] || e.Operation == "" {
			t.Errorf("the operation %q stands twice, or is none", e.Operation)
		}
		operations[e.Operation] = true
		if e.Path[0] != '/' || e.Group == "" || (e.Keys == endpoints.NoKey) != (e.Limit == endpoints.Anonymous) {
			t.Errorf("%+v", e)
		}
		route := e.Path
		if e.Behind != "" {
			route = e.Behind
		}
		if before := behind[route]; before != "" && before != e.Group {
			t.Errorf("%s belongs to two groups, %s and %s: one route cannot lead to both", route, before, e.Group)
		}
		behind[route] = e.Group
	}
	behind[endpoints.Pages.Behind] = endpoints.Pages.Group
	if routes := endpoints.Routes(Endpoints()); len(routes) != len(behind) {
		t.Errorf("%d routes for %d paths of the gateway", len(routes), len(behind))
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
	h := must.Get(New(Options{Service: control.New(control.Settings{}), BasePath: "/api/v1"}, Segments()))(t)
	for path, want := range map[string]int{"/api/v1/segments": 401, "/api/v1/flags": 404, "/v1/segments": 404, "/api/v1": 404, "/api/v1/openapi.json": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

// TestALongRolloutIsLookedAtNoFurther: its entries cost nothing.
func TestALongRolloutIsLookedAtNoFurther(t *testing.T) {
	patch := described().operations["updateFlagEnvironment"].body
	check := func(entries int) (allocations float64, problem error) {
		tree := must.Get(jsontree.Parse([]byte(`{"rollout":[{"value":1,"percent":0.001}` + strings.Repeat(`,{"value":1,"percent":0.001}`, entries-1) + `]}`)))(t)
		allocations = testing.AllocsPerRun(1, func() { _, problem = patch.check(tree) })
		return allocations, problem
	}
	if _, err := check(1000); err != nil {
		t.Errorf("1000 entries: %v", err)
	}
	allocations, problem := check(30_000)
	if f := fault.Of(problem); problem == nil || f.Kind != fault.BadRequest || !strings.Contains(f.Message, "rollout has at most 1000 entries, not 30000") || allocations > 100 {
		t.Errorf("30000 entries: %v allocations, %v", allocations, problem)
	}
}

package endpoints

import (
	"net/http"
	"slices"
	"testing"
)

func TestTheTableIsConsistent(t *testing.T) {
	var mux http.ServeMux
	operations, behind := map[string]bool{}, map[string]string{}
	for _, e := range slices.Concat(REST, ForPeople, ForApplications) {
		mux.Handle(e.Method+" "+e.Path, http.NotFoundHandler()) // which panics when two are for one path
		if operations[e.Operation] || e.Operation == "" {
			t.Errorf("the operation %q stands twice, or is none", e.Operation)
		}
		operations[e.Operation] = true
		if e.Path[0] != '/' || e.Group == "" || (e.Keys == NoKey) != (e.Limit == Anonymous) {
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
	if routes := Routes(); len(routes) != len(behind) {
		t.Errorf("%d routes for %d paths of the gateway", len(routes), len(behind))
	}
}

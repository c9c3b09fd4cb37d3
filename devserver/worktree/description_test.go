package worktree

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
)

// TestWhatIsDescribedIsServed, and whatever is served is described: each path, and the
// methods that it takes.
func TestWhatIsDescribedIsServed(t *testing.T) {
	p := open(t)
	text, err := json.Marshal(p.must("GET", "/v1/openapi.json", ""))
	must(t, err)
	var d struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ Responses map[string]any }
	}
	must(t, json.Unmarshal(text, &d))
	handler := p.api.Beside(http.NotFoundHandler())
	ask := func(method, path, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Host = own
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	parameter := regexp.MustCompile(`\{\w+\}`)
	var described []string
	for path, operations := range d.Paths {
		path = d.Servers[0].URL + path
		described = append(described, path)
		at := parameter.ReplaceAllString(path, "new-checkout")
		var methods []string
		for name, o := range operations {
			methods = append(methods, strings.ToUpper(name))
			// What is not there may be an item, and no path.
			got := ask(strings.ToUpper(name), at+"?dryRun=true", p.token)
			if got.Code == http.StatusMethodNotAllowed || got.Code >= 500 || got.Code == http.StatusNotFound && strings.Contains(got.Body.String(), "path") {
				t.Errorf("%s %s: %d %s", name, at, got.Code, got.Body)
			}
			if _, secured := o.Responses["401"]; secured == (ask(strings.ToUpper(name), at, "").Code != http.StatusUnauthorized) {
				t.Errorf("%s %s: who has no token is answered %v", name, at, !secured)
			}
		}
		allowed := strings.Split(ask("TRACE", at, p.token).Header().Get("Allow"), ", ")
		allowed = slices.DeleteFunc(allowed, func(method string) bool { return method == http.MethodHead })
		if slices.Sort(allowed); !slices.Equal(allowed, slices.Sorted(slices.Values(methods))) {
			t.Errorf("%s takes %q, and described are %q", path, allowed, methods)
		}
	}
	routes, _, err := p.api.routes(&control.Service{})
	must(t, err)
	for _, route := range routes {
		below := strings.HasPrefix(route.Path, "/v1/") && !strings.HasPrefix(route.Path, "/v1/docs/") // what the reference loads
		if served := ask("TRACE", parameter.ReplaceAllString(route.Path, "x"), p.token).Code != http.StatusNotFound; served && below != slices.Contains(described, route.Path) {
			t.Errorf("%s is served, and not described", route.Path)
		}
	}
}

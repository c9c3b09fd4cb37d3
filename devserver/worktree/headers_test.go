package worktree

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/testing/must"
)

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	p := open(t)
	for _, tt := range []struct {
		name, method, path, token, host string
		status                          int
	}{
		{"flags", "GET", "/v1/flags", p.token, own, 200},
		{"overrides", "GET", "/v1/overrides", p.token, own, 200},
		{"problems", "GET", "/v1/problems", p.token, own, 200},
		{"no token", "GET", "/v1/flags", "", own, 401},
		{"another host", "GET", "/v1/flags", p.token, "evil.test", 421},
		{"a refused override", "PUT", "/v1/overrides", p.token, own, 400},
		{"another method", "POST", "/v1/problems", p.token, own, 405},
	} {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader("{"))
		r.Host = tt.host
		r.Header.Set("Authorization", "Bearer "+tt.token)
		r.Header.Set("X-Request-Id", "mine-1")
		w := httptest.NewRecorder()
		p.api.ServeHTTP(w, r)
		if id, sniff := w.Header().Values("X-Request-Id"), w.Header().Values("X-Content-Type-Options"); w.Code != tt.status || len(id) != 1 || id[0] != "mine-1" || len(sniff) != 1 || sniff[0] != "nosniff" {
			t.Errorf("%s: %d %v", tt.name, w.Code, w.Header())
		}
	}
	// The token is in nothing that whoever reaches the server reads.
	for _, path := range []string{"/console/", "/", "/v1/openapi.json", "/v1/docs"} {
		w := httptest.NewRecorder()
		p.api.Beside(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+own+path, nil))
		if text := w.Body.String() + fmt.Sprint(w.Header()); strings.Contains(text, p.token) || path == "/console/" && w.Header().Get("Cache-Control") != "no-cache" {
			t.Error(path, w.Code, w.Header())
		}
	}
}

// TestAnEditThatLooksLikeNoneIsTakenUp by the next write: one that leaves a file its
// size and its time.
func TestAnEditThatLooksLikeNoneIsTakenUp(t *testing.T) {
	p := open(t)
	path := filepath.Join(p.dir, flagPath)
	long := time.Now().Add(-time.Hour)
	must.Do(t, os.Chtimes(path, long, long))
	p.must("GET", "/v1/flags/new-checkout", "")
	edited := strings.Replace(flagText, `"team": "web"`, `"team": "app"`, 1)
	p.write(flagPath, edited)
	must.Do(t, os.Chtimes(path, long, long))
	p.must("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
	if got := p.read(flagPath); got != strings.Replace(edited, `"value": false`, `"value": true`, 1) {
		t.Errorf("%q", got)
	}
}

// TestListsOfADirectoryAreAnsweredOnce to who has them, by their ETag.
func TestListsOfADirectoryAreAnsweredOnce(t *testing.T) {
	p := open(t)
	for _, path := range []string{"/v1/overrides", "/v1/problems", "/v1/clients", "/v1/flags"} {
		ask := func(method, tag string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, nil)
			r.Host = own
			r.Header.Set("Authorization", "Bearer "+p.token)
			r.Header.Set("If-None-Match", tag)
			w := httptest.NewRecorder()
			p.api.ServeHTTP(w, r)
			return w
		}
		first := ask("GET", `"another"`)
		tag := first.Header().Get("Etag")
		again, head := ask("GET", tag), ask("HEAD", "")
		if first.Code != 200 || again.Code != 304 || again.Body.Len() > 0 || again.Header().Get("Etag") != tag || head.Code != 200 || head.Header().Get("Etag") != tag {
			t.Errorf("%s: %d %s, then %d, and %d to HEAD", path, first.Code, tag, again.Code, head.Code)
		}
	}
}

// TestWhatIsDescribedIsServed, and whatever is served is described: each path, and the
// methods that it takes.
func TestWhatIsDescribedIsServed(t *testing.T) {
	p := open(t)
	text := must.Get(json.Marshal(p.must("GET", "/v1/openapi.json", "")))(t)
	var d struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct{ Responses map[string]any }
	}
	must.Do(t, json.Unmarshal(text, &d))
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
	must.Do(t, err)
	for _, route := range routes {
		below := strings.HasPrefix(route.Path, "/v1/") && !strings.HasPrefix(route.Path, "/v1/docs/") // what the reference loads
		if served := ask("TRACE", parameter.ReplaceAllString(route.Path, "x"), p.token).Code != http.StatusNotFound; served && below != slices.Contains(described, route.Path) {
			t.Errorf("%s is served, and not described", route.Path)
		}
	}
}

func TestRewritten(t *testing.T) {
	const stored = "{\n  \"a\": 2\n}\n"
	for _, tt := range []struct{ name, old, content, want string }{
		{"a byte order mark", "\xef\xbb\xbf{\r\n\t\"a\": 1\r\n}", stored, "\xef\xbb\xbf{\r\n\t\"a\": 2\r\n}"},
		{"one line", `{"a":1}`, stored, `{"a":2}`},
		{"no JSON", `{"a":`, stored, stored},
		{"what stood there once", "{\"a\": 1}", "{ \"a\" : 3 }", "{ \"a\" : 3 }"},
	} {
		if got := rewritten([]byte(tt.old), []byte(tt.content)); string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if rewritten([]byte("{}"), nil) != nil {
		t.Error("what is deleted has a content")
	}
}

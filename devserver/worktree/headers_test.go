package worktree

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	// The token is in no page: whoever reaches the server reads it.
	r := httptest.NewRequest(http.MethodGet, "http://"+own+"/console/", nil)
	w := httptest.NewRecorder()
	p.api.Beside(http.NotFoundHandler()).ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), p.token) || w.Header().Get("Cache-Control") != "no-cache" {
		t.Error(w.Code, w.Header())
	}
}

// TestAnEditThatLooksLikeNoneIsTakenUp by the next write: one that leaves a file its
// size and its time.
func TestAnEditThatLooksLikeNoneIsTakenUp(t *testing.T) {
	p := open(t)
	path := filepath.Join(p.dir, flagPath)
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(path, long, long))
	p.must("GET", "/v1/flags/new-checkout", "")
	edited := strings.Replace(flagText, `"team": "web"`, `"team": "app"`, 1)
	p.write(flagPath, edited)
	must(t, os.Chtimes(path, long, long))
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

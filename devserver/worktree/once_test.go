package worktree

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// under sends a request as the page does, under an Idempotency-Key.
func (p *page) under(key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+own+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	p.api.ServeHTTP(w, r)
	return w
}

// TestARequestThatIsSentAgainIsCarriedOutOnce, while the process runs.
func TestARequestThatIsSentAgainIsCarriedOutOnce(t *testing.T) {
	p := open(t)
	const path = "/v1/flags/new-checkout/environments/default"
	again := func(name string, method, path, body string, undo func()) {
		t.Helper()
		first := p.under(name, method, path, body)
		undo()
		second := p.under(name, method, path, body)
		if first.Code != 200 || first.Header().Get(replayedHeader) != "" {
			t.Errorf("%s: %d %s %v", name, first.Code, first.Body, first.Header())
		}
		if second.Code != 200 || second.Body.String() != first.Body.String() || second.Header().Get(replayedHeader) != "true" || second.Header().Get("ETag") != first.Header().Get("ETag") {
			t.Errorf("%s, again: %d %s %v, and was %s", name, second.Code, second.Body, second.Header(), first.Body)
		}
	}
	again("patch", "PATCH", path, `{"enabled": true}`, func() { p.must("PATCH", path, `{"enabled": false}`) })
	if p.read(flagPath) != flagText {
		t.Error("it is carried out twice")
	}
	made := filepath.Join(p.dir, "feature-flags/made.json")
	again("create", "POST", "/v1/flags", `{"key": "made"}`, func() { _ = os.Remove(made) })
	if _, err := os.Stat(made); err == nil {
		t.Error("it is made twice")
	}
	again("delete", "DELETE", "/v1/flags/new-checkout", "", func() { p.write(flagPath, flagText) })
	again("override", "PUT", "/v1/overrides", `{"key": "new-checkout", "value": true}`, func() { p.must("DELETE", "/v1/overrides", "") })
	p.must("PUT", "/v1/overrides", `{"key": "new-checkout", "value": true}`)
	again("clear", "DELETE", "/v1/overrides", "", func() { p.must("PUT", "/v1/overrides", `{"key": "new-checkout", "value": true}`) })

	for _, other := range [][3]string{{"PATCH", path, `{"enabled": false}`}, {"PATCH", path + "?dryRun=false", `{"enabled": true}`}, {"PUT", path, `{"enabled": true}`}} {
		if w := p.under("patch", other[0], other[1], other[2]); w.Code != 422 || !strings.Contains(w.Body.String(), "IDEMPOTENCY_MISMATCH") {
			t.Errorf("%v: %d %s", other, w.Code, w.Body)
		}
	}
	for _, tt := range []struct{ name, method, path, body string }{
		{"dry", "PATCH", path + "?dryRun=true", `{"enabled": true}`},
		{"nothing-changes", "PATCH", path, `{"enabled": false}`},
		{"refused", "PATCH", path, `{"enabled": 1}`},
		{"no-write", "POST", "/v1/evaluate", `{"environment": "production", "context": {}}`},
		{"nothing-to-clear", "DELETE", "/v1/overrides?key=none", ""},
	} {
		for range 2 {
			if w := p.under(tt.name, tt.method, tt.path, tt.body); w.Header().Get(replayedHeader) != "" {
				t.Errorf("%s is remembered: %s", tt.name, w.Body)
			}
		}
		if w := p.under(tt.name, "POST", "/v1/flags", `{"key": "`+tt.name+`"}`); w.Code != 200 {
			t.Errorf("%s: the key is not free: %d %s", tt.name, w.Code, w.Body)
		}
	}
	if w := p.under("a b", "POST", "/v1/flags", `{"key": "x"}`); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOfRequestsUnderOneKeyOneIsCarriedOut(t *testing.T) {
	p := open(t)
	var all sync.WaitGroup
	var replayed sync.Map
	for i := range 6 {
		all.Go(func() {
			w := p.under("one", "POST", "/v1/flags", `{"key": "made"}`)
			if w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if w.Header().Get(replayedHeader) != "" {
				replayed.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	replayed.Range(func(any, any) bool { n++; return true })
	if n != 5 {
		t.Errorf("%d of 6 are replays", n)
	}
	// What is remembered is bounded.
	for i := range maxAnswers + 10 {
		p.under(fmt.Sprint("key-", i), http.MethodPut, "/v1/overrides", `{"key": "new-checkout", "value": true}`)
	}
	if n := len(p.api.once.all); n > maxAnswers {
		t.Errorf("%d are remembered", n)
	}
}

package worktree

import (
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const replayedHeader = "Idempotency-Replayed"

// under sends a request as the page does, under an Idempotency-Key.
func (p *page) under(key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+own+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	p.api.ServeHTTP(w, r)
	return w
}

// TestAnAnswerOutlivesTheServer, and another server of the directory has it, whichever
// environment it serves; a damaged file of answers stands in nobody's way.
func TestAnAnswerOutlivesTheServer(t *testing.T) {
	p := open(t)
	file := p.api.options.Overrides
	another := func(environment string) {
		t.Helper()
		var err error
		if p.api, err = New(Options{Dir: p.dir, Environment: environment, Overrides: file, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580)}); err != nil {
			t.Fatal(err)
		}
		p.token = p.api.Token()
	}
	first := p.api
	again := func(name, method, path, body string) {
		t.Helper()
		was := p.under(name, method, path, body)
		another("production")
		now := p.under(name, method, path, body)
		if was.Code != 200 || was.Header().Get(replayedHeader) != "" || now.Code != 200 || now.Body.String() != was.Body.String() || now.Header().Get(replayedHeader) != "true" {
			t.Errorf("%s: %d %s, and again %d %s", name, was.Code, was.Body, now.Code, now.Body)
		}
	}
	again("create", "POST", "/v1/flags", `{"key": "made"}`)
	again("patch", "PATCH", "/v1/flags/made/environments/default", `{"enabled": true}`)
	again("delete", "DELETE", "/v1/flags/made", "")
	p.api, p.token = first, first.Token()
	if w := p.under("delete", "DELETE", "/v1/flags/made", ""); w.Header().Get(replayedHeader) != "true" {
		t.Errorf("the first server: %d %s", w.Code, w.Body)
	}
	if w := p.under("delete", "DELETE", "/v1/flags/new-checkout", ""); w.Code != 422 {
		t.Errorf("the key for another request: %d %s", w.Code, w.Body)
	}
	path := answersOf(p.dir, file)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), `"delete"`) {
		t.Errorf("the key is told: %v", err)
	}
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	again("after-that", "POST", "/v1/flags", `{"key": "made"}`)
}

// TestOfRequestsUnderOneKeyOneIsCarriedOut, whichever server of the directory they come to.
func TestOfRequestsUnderOneKeyOneIsCarriedOut(t *testing.T) {
	p := open(t)
	api, err := New(Options{Dir: p.dir, Environment: "production", Overrides: p.api.options.Overrides, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580)})
	must(t, err)
	other := *p
	other.api, other.token = api, api.Token()
	var all sync.WaitGroup
	var replayed atomic.Int32
	for i := range 8 {
		all.Go(func() {
			w := []*page{p, &other}[i%2].under("one", "PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
			if w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if w.Header().Get(replayedHeader) != "" {
				replayed.Add(1)
			}
		})
	}
	all.Wait()
	if n := replayed.Load(); n != 7 {
		t.Errorf("%d of 8 are replays", n)
	}
}

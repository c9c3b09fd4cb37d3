package worktree

import (
	"net/http/httptest"
	"os"
	"path/filepath"
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

// TestARequestThatIsSentAgainIsCarriedOutOnce, whatever has become of it since.
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

	for _, other := range [][3]string{{"PATCH", path, `{"enabled": false}`}, {"PATCH", path + "?dryRun=false", `{"enabled": true}`}, {"POST", "/v1/flags", `{"enabled": true}`}} {
		if w := p.under("patch", other[0], other[1], other[2]); w.Code != 422 || !strings.Contains(w.Body.String(), "IDEMPOTENCY_MISMATCH") {
			t.Errorf("%v: %d %s", other, w.Code, w.Body)
		}
	}
	for _, tt := range []struct{ name, method, path, body string }{
		{"dry", "PATCH", path + "?dryRun=true", `{"enabled": true}`},
		{"nothing-changes", "PATCH", path, `{"enabled": false}`},
		{"refused", "PATCH", path, `{"enabled": 1}`},
		{"no-write", "POST", "/v1/evaluate", `{"environment": "production", "context": {}}`},
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
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	again("after-that", "POST", "/v1/flags", `{"key": "made"}`)
}

// TestOfRequestsUnderOneKeyOneIsCarriedOut, whichever server of the directory they come to.
func TestOfRequestsUnderOneKeyOneIsCarriedOut(t *testing.T) {
	p := open(t)
	api, err := New(Options{Dir: p.dir, Environment: "production", Overrides: p.api.options.Overrides, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580)})
	if err != nil {
		t.Fatal(err)
	}
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

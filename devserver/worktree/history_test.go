package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// TestWhatAnAnswerNamesCanBeUndone, whatever has been written on top of it: the history
// has the same ids as the answers.
func TestWhatAnAnswerNamesCanBeUndone(t *testing.T) {
	const (
		flag   = "/v1/flags/new-checkout"
		inProd = flag + "/environments/production"
	)
	undo := func(p *page, path string, answer map[string]any) {
		p.Helper()
		p.must("POST", path+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, answer["commitSha"]))
	}
	newest := func(p *page, path string) any {
		p.Helper()
		return p.must("GET", path+"/history", "")["history"].([]any)[0].(map[string]any)["sha"]
	}
	there := func(p *page, path string) bool {
		_, err := os.Stat(filepath.Join(p.dir, path))
		return err == nil
	}
	for name, do := range map[string]func(p *page){
		"an older write": func(p *page) {
			first := p.must("PATCH", inProd, `{"enabled": true}`)
			if got := newest(p, flag); got != first["commitSha"] {
				t.Errorf("the history names %v, and the answer %v", got, first["commitSha"])
			}
			before := p.read(flagPath)
			p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			p.must("GET", flag+"/document?at="+first["commitSha"].(string), "")
			undo(p, flag, first)
			if p.read(flagPath) == before || p.read(flagPath) == flagText {
				t.Errorf("%s", p.read(flagPath))
			}
		},
		"a content that came back": func(p *page) {
			p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			off := p.must("PATCH", flag+"/environments/default", `{"enabled": false}`)
			if off["commitSha"] != blobOf(flagText) {
				t.Fatal(off)
			}
			p.must("PATCH", inProd, `{"enabled": true}`)
			undo(p, flag, off)
			ids := map[any]bool{}
			rows := p.must("GET", flag+"/history", "")["history"].([]any)
			for _, row := range rows {
				id := row.(map[string]any)["sha"].(string)
				ids[id] = true
				p.must("GET", flag+"/document?at="+id, "")
			}
			if len(ids) != len(rows) || len(rows) != 5 {
				t.Errorf("%d ids of %d rows: %v", len(ids), len(rows), rows)
			}
		},
		"a content that several writes have led to": func(p *page) {
			p.must("PATCH", inProd, `{"enabled": false}`)
			mine := p.must("PATCH", flag+"/environments/default", `{"enabled": true}`)
			p.must("PATCH", inProd, `{"enabled": true}`)
			if back := p.must("PATCH", inProd, `{"enabled": false}`); back["commitSha"] != mine["commitSha"] {
				t.Fatal(back)
			}
			before := p.read(flagPath)
			for _, id := range []string{mine["commitSha"].(string), mine["commitSha"].(string)[:8]} {
				status, answer := p.ask("POST", flag+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, id))
				details, _ := answer["details"].(map[string]any)
				if dates, _ := details["dates"].([]any); status != 409 || details["code"] != "AMBIGUOUS_COMMIT" || len(dates) != 2 {
					t.Error(status, answer)
				}
			}
			if p.read(flagPath) != before {
				t.Errorf("%s", p.read(flagPath))
			}
			p.must("POST", flag+"/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "restore"}`, mine["commitSha"]))
			p.must("GET", flag+"/document?at="+mine["commitSha"].(string), "")
			undo(p, flag, map[string]any{"commitSha": newest(p, flag)})
			if got := p.must("GET", flag, ""); !strings.Contains(fmt.Sprint(got), "true") || p.read(flagPath) == before {
				t.Errorf("%s", p.read(flagPath))
			}
		},
		"a creation": func(p *page) {
			made := p.must("POST", "/v1/flags", `{"key": "made"}`)
			undo(p, "/v1/flags/made", made)
			if there(p, "feature-flags/made.json") {
				t.Error("it is still there")
			}
		},
		"a deletion": func(p *page) {
			gone := p.must("DELETE", flag, "")
			if got := newest(p, flag); got != gone["commitSha"] {
				t.Errorf("the history names %v, and the answer %v", got, gone["commitSha"])
			}
			p.must("POST", "/v1/flags", `{"key": "made"}`)
			undo(p, flag, gone)
			if p.read(flagPath) != flagText {
				t.Errorf("%q", p.read(flagPath))
			}
		},
		"a change set as a whole": func(p *page) {
			all := p.must("POST", "/v1/changes", `{"operations": [
				{"op": "create", "type": "feature_flag", "body": {"key": "a"}},
				{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "production", "body": {"enabled": true}}]}`)
			p.must("POST", "/v1/flags", `{"key": "made"}`)
			p.must("POST", "/v1/changes", fmt.Sprintf(`{"operations": [{"op": "revert", "commitSha": %q, "mode": "undo"}]}`, all["commitSha"]))
			if p.read(flagPath) != flagText || there(p, "feature-flags/a.json") || !there(p, "feature-flags/made.json") {
				t.Errorf("%q", p.read(flagPath))
			}
		},
		"a change set": func(p *page) {
			all := p.must("POST", "/v1/changes", `{"operations": [
				{"op": "create", "type": "feature_flag", "body": {"key": "a"}},
				{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "production", "body": {"enabled": true}},
				{"op": "create", "type": "feature_flag", "body": {"key": "z"}}]}`)
			p.must("POST", "/v1/flags", `{"key": "made"}`)
			for _, key := range []string{"a", "new-checkout", "z"} {
				undo(p, "/v1/flags/"+key, all)
			}
			if p.read(flagPath) != flagText || there(p, "feature-flags/a.json") || there(p, "feature-flags/z.json") {
				t.Errorf("%q", p.read(flagPath))
			}
			if status, answer := p.ask("POST", "/v1/flags/made/revert", fmt.Sprintf(`{"commitSha": %q, "mode": "undo"}`, all["commitSha"])); status != 422 {
				t.Error("what it did not touch is undone:", status, answer)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { p := open(t); do(p) })
	}
}

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
	must.Do(t, os.WriteFile(path, []byte("{"), 0o600))
	again("after-that", "POST", "/v1/flags", `{"key": "made"}`)
}

// TestOfRequestsUnderOneKeyOneIsCarriedOut, whichever server of the directory they come to.
func TestOfRequestsUnderOneKeyOneIsCarriedOut(t *testing.T) {
	p := open(t)
	api := must.Get(New(Options{Dir: p.dir, Environment: "production", Overrides: p.api.options.Overrides, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580)}))(t)
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

// beside is another svc serve on the same directory.
func (p *page) beside() *page {
	p.Helper()
	api := must.Get(New(Options{Dir: p.dir, Environment: "development", Who: "Grace", Hosts: OwnHosts("127.0.0.1", 6580)}))(p)
	return &page{T: p.T, dir: p.dir, api: api, token: api.Token()}
}

// TestServersOfOneDirectoryLoseNothing: of those who write under one token there is one
// winner.
func TestServersOfOneDirectoryLoseNothing(t *testing.T) {
	first := open(t)
	servers := map[string]*page{"development": first, "production": first.beside()}
	var all sync.WaitGroup
	first.must("POST", "/v1/configs", `{"key": "number", "valueType": "int", "value": 0}`)
	for i := range 20 {
		token := first.must("GET", "/v1/configs/number", "")["commitSha"].(string)
		var won sync.Map
		for name, p := range servers {
			all.Go(func() {
				status, answer := p.ask("PATCH", "/v1/configs/number/environments/"+name, fmt.Sprintf(`{"value": %d, "expectedCommitSha": "%s"}`, i+1, token))
				if status == 200 {
					won.Store(name, true)
				} else if status != 409 {
					t.Errorf("%d %v", status, answer)
				}
			})
		}
		all.Wait()
		n := 0
		won.Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("round %d: the token has %d winners", i, n)
		}
	}
}

func TestAWriteWaitsForItsTurn(t *testing.T) {
	p := open(t)
	lock := must.Get(datadir.Lock(t.Context(), p.dir))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := datadir.Lock(ctx, p.dir); !errors.Is(err, datadir.ErrHeld) {
		t.Error("there are two at once:", err)
	}
	written := make(chan int)
	go func() {
		status, _ := p.ask("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
		written <- status
	}()
	for range 20 {
		p.must("GET", "/v1/flags/new-checkout", "") // who reads does not wait
	}
	if p.read(flagPath) != flagText {
		t.Error("it is written out of turn")
	}
	lock.Close()
	if status := <-written; status != 200 || p.read(flagPath) == flagText {
		t.Error(status, p.read(flagPath))
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".*")); len(left) > 0 {
		t.Errorf("the lock leaves %q in the directory", left)
	}
}

// TestNoFileIsRemovedForItsName: what a killed writer has left is known by its seal.
func TestNoFileIsRemovedForItsName(t *testing.T) {
	p := open(t)
	kept := []string{"feature-flags/.svc-next-ABCDEFGHIJKLMNOPQRSTUVWX23", "feature-flags/.svc-next-1234", "notes/.svc-next-ABCDEFGHIJKLMNOPQRSTUVWX23", ".gitignore"}
	for _, path := range kept {
		p.write(path, "{}")
	}
	p.must("POST", "/v1/flags", `{"key": "another"}`)
	for _, path := range kept {
		p.read(path)
	}
}

// TestAWriteThatCannotBeReadBackHasHappened, and what it wrote is what its answer tells of.
func TestAWriteThatCannotBeReadBackHasHappened(t *testing.T) {
	const folder = "feature-flags"
	for name, unreadable := range map[string]func(dir string) error{
		"a file": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, folder), 0o777), os.WriteFile(filepath.Join(dir, flagPath), make([]byte, 2<<20), 0o666))
		},
		"a folder": func(dir string) error { return os.WriteFile(filepath.Join(dir, folder), nil, 0o666) },
	} {
		p := open(t)
		p.must("GET", "/v1/flags/new-checkout", "")
		must.Do(t, errors.Join(os.RemoveAll(filepath.Join(p.dir, folder)), unreadable(p.dir)))
		tree, changed := p.api.tree, []byte(strings.Replace(flagText, "false", "true", 1))
		tree.written(tree.snapshot, []datadir.Edit{{Path: flagPath, Content: changed}},
			repository.Draft{Message: "changed", Changes: []repository.Change{{Path: flagPath, Content: changed}}})
		if file, _ := tree.snapshot.File(flagPath); !bytes.Equal(file.Text, changed) || file.Last.Message != "changed" {
			t.Errorf("%s: %q, %+v", name, file.Text, file.Last)
		}
	}
}

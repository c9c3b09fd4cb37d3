package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/repository"
)

// beside is another svc serve on the same directory.
func (p *page) beside() *page {
	p.Helper()
	api, err := New(Options{Dir: p.dir, Environment: "development", Who: "Grace", Hosts: OwnHosts("127.0.0.1", 6580)})
	must(p, err)
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
	lock, err := datadir.Lock(t.Context(), p.dir)
	must(t, err)
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
		must(t, errors.Join(os.RemoveAll(filepath.Join(p.dir, folder)), unreadable(p.dir)))
		tree, changed := p.api.tree, []byte(strings.Replace(flagText, "false", "true", 1))
		tree.written(tree.snapshot, []datadir.Edit{{Path: flagPath, Content: changed}},
			repository.Draft{Message: "changed", Changes: []repository.Change{{Path: flagPath, Content: changed}}})
		if file, _ := tree.snapshot.File(flagPath); !bytes.Equal(file.Text, changed) || file.Last.Message != "changed" {
			t.Errorf("%s: %q, %+v", name, file.Text, file.Last)
		}
	}
}

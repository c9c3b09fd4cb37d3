package apitest

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestBackupsBesideManyWriters: as TestBackupsBesideWriters, with the server as it is
// shipped and so many clients that their commits are flushed together. How many they
// make in a second depends on the machine, and is logged.
func TestBackupsBesideManyWriters(t *testing.T) {
	clients, rounds := 64, 10
	if testing.Short() {
		clients, rounds = 16, 2
	}
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range clients {
		key := fmt.Sprint("flag-", i)
		files[apiload.PathOf("flags", key)] = apiload.Canonical(apiload.NewDocument("feature_flag", "bool", key, "", apiload.ValueOf("bool", false)))
	}
	w := newWorkplace(t, files, clients)
	p := launch(t, svcbinary.Swift, w, freeport.Take())
	ended, end := context.WithCancel(t.Context())
	defer end()
	var working sync.WaitGroup
	var written atomic.Int64
	acknowledged := make([]atomic.Pointer[string], clients) // the commit of the last answer to each
	client := apiload.NewHTTPClient(t)
	for i := range clients {
		working.Go(func() {
			for n := 0; ended.Err() == nil; n++ {
				o := &apiload.Operation{Kind: apiload.Toggle, Family: "flags", Key: fmt.Sprint("flag-", i), Scope: "production", Enabled: n%2 == 0}
				status, body, err := apiload.SendOnce(t.Context(), client, p.base+"/v1", w.keys[i], o)
				if err != nil || status != http.StatusOK {
					t.Errorf("%d, %v: %s", status, err, body)
					return
				}
				answer, err := o.Read(status, body)
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged[i].Store(&answer.Commit)
				written.Add(1)
			}
		})
	}
	type taken struct {
		path   string
		before []string
	}
	var all []taken
	var during, took time.Duration
	var beside int64
	began := time.Now()
	for range rounds {
		time.Sleep(200 * time.Millisecond)
		b := taken{path: filepath.Join(t.TempDir(), "backup.tar")}
		for i := range acknowledged {
			if commit := acknowledged[i].Load(); commit != nil {
				b.before = append(b.before, *commit)
			}
		}
		count, from := written.Load(), time.Now()
		_, err := command(t.Context(), svcbinary.Swift, "backup", b.path, "--data", w.dir)
		must(t, err)
		beside, during = beside+written.Load()-count, during+time.Since(from)
		all = append(all, b)
	}
	took = time.Since(began)
	end()
	working.Wait()
	p.stop(t)
	quiet(t, p.Log)
	t.Logf("%d clients: %.0f writes a second, %.0f of them while a backup was made, which took %d ms", clients,
		float64(written.Load())/took.Seconds(), float64(beside)/during.Seconds(), during.Milliseconds()/int64(rounds))
	for n, b := range all {
		dir := filepath.Join(t.TempDir(), "restored")
		_, err := command(t.Context(), svcbinary.Swift, "restore", b.path, "--data", dir)
		must(t, err)
		git := gitIn(t, filepath.Join(dir, local.RepositoryName))
		git.Sound(t)
		history := map[string]bool{}
		for _, commit := range git.Lines(t, "rev-list", "refs/heads/main") {
			history[commit] = true
		}
		for _, commit := range b.before {
			if !history[commit] {
				t.Errorf("backup %d lacks %s, which a client was told of before it began", n, commit)
			}
		}
	}
}

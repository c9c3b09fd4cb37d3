package apitest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// workspaceIn is the id of a data directory's workspace.
func workspaceIn(t *testing.T, dir string) string {
	t.Helper()
	registry, err := local.OpenRegistry(dir)
	must(t, err)
	defer registry.Close()
	ws, err := registry.Workspace(t.Context())
	must(t, err)
	return ws.ID
}

// TestBackupsBesideWriters: a backup that is made while a server is written to as fast
// as it goes, while packs are merged, keys are made and telemetry comes in, holds
// everything that was acknowledged before it began, and nothing that the server never had.
func TestBackupsBesideWriters(t *testing.T) {
	t.Parallel()
	const writers = 4
	w := newWorkplace(t, map[string]string{"svc.json": `{"environments": ["production"]}`}, writers)
	p := launch(t, svcbinary.Watched, w, freeport.Take())
	id := workspaceIn(t, w.dir)
	seen := rows.New(bolt.New(local.DatabaseIn(w.dir)), 0)
	acknowledged := make([]atomic.Pointer[string], writers) // the commit of the last answer to each
	var working sync.WaitGroup
	ended, end := context.WithCancel(t.Context())
	defer end()
	client := apiload.NewHTTPClient(t)
	for i := range writers {
		working.Go(func() {
			for n := 0; ended.Err() == nil; n++ {
				key := fmt.Sprintf("flag-%d-%d", i, n)
				answer, err := send(client, p.base, w.keys[i], &apiload.Operation{Kind: apiload.Create, Family: "flags", Key: key, Description: key})
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged[i].Store(&answer.Commit)
			}
		})
	}
	working.Go(func() {
		for n := 0; ended.Err() == nil; n++ {
			_, err := seen.Record(t.Context(), id, telemetry.Batch{ID: [32]byte{byte(n), byte(n >> 8)}, Received: time.Now(),
				Contexts: []telemetry.Saved{{Environment: "production", Type: "user", Key: fmt.Sprint("u", n), LastSeen: time.Now().UTC()}}})
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond) // a server lets go of the file now and then
		}
	})
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	type taken struct {
		path   string
		before []string
		keys   string
	}
	all := make([]taken, rounds)
	for n := range all {
		time.Sleep(300 * time.Millisecond) // so that there is something new, and packs are merged at times
		_, err := command(t.Context(), "key", "create", "--kind", "service-account", "--name", fmt.Sprint("ci-", n), "--role", "engineer", "--data", w.dir)
		must(t, err)
		all[n] = taken{path: filepath.Join(t.TempDir(), "backup.tar"), keys: audited(t, w.dir)}
		for i := range acknowledged {
			if commit := acknowledged[i].Load(); commit != nil {
				all[n].before = append(all[n].before, *commit)
			}
		}
		_, err = command(t.Context(), "backup", all[n].path, "--data", w.dir)
		must(t, err)
	}
	end()
	working.Wait()
	p.stop(t)
	live := gitIn(t, w.repository())
	dir := ""
	for n, b := range all {
		dir = filepath.Join(t.TempDir(), "restored")
		out, err := command(t.Context(), "restore", b.path, "--data", dir)
		must(t, err)
		git := gitIn(t, filepath.Join(dir, local.RepositoryName))
		git.Sound(t)
		head := git.Run(t, "rev-parse", "refs/heads/main")
		if _, err := live.Try("merge-base", "--is-ancestor", head, "refs/heads/main"); err != nil {
			t.Errorf("backup %d is at %s, where the source never was: %v", n, head, err)
		}
		if len(b.before) == 0 {
			t.Errorf("nobody wrote before backup %d", n)
		}
		for _, commit := range b.before {
			if _, err := git.Try("merge-base", "--is-ancestor", commit, head); err != nil {
				t.Errorf("backup %d lacks %s, which was acknowledged before it began: %v", n, commit, err)
			}
		}
		if got := audited(t, dir); got != b.keys {
			t.Errorf("backup %d has the audit trail\n%s\nwant\n%s", n, got, b.keys)
		}
		found, err := rows.New(bolt.New(local.DatabaseIn(dir)), 0).Contexts(t.Context(), id, telemetry.Query{Limit: 1})
		if err != nil || len(found) == 0 || !strings.Contains(out, ", telemetry") {
			t.Errorf("the telemetry of backup %d: %v, %v; %s", n, found, err, out)
		}
	}
	again := launch(t, svcbinary.Watched, workplace{dir, w.keys}, freeport.Take())
	if _, err := send(client, again.base, w.keys[0], &apiload.Operation{Kind: apiload.Create, Family: "flags", Key: "afterwards"}); err != nil {
		t.Errorf("a key in what was restored: %v", err)
	}
	again.stop(t)
	t.Logf("%s commits beside %d backups", live.Run(t, "rev-list", "--count", "main"), rounds)
}

// send sends a write, which has to succeed.
func send(client *http.Client, base, key string, o *apiload.Operation) (*apiload.Answer, error) {
	status, body, err := apiload.SendOnce(context.Background(), client, base+"/v1", key, o)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", o, status, body)
	}
	if err != nil {
		return nil, err
	}
	return o.Read(status, body)
}

// audited is the audit trail of keys: a backup has that of its moment.
func audited(t testing.TB, dir string) string {
	t.Helper()
	events, err := embedded.Audit(t.Context(), dir, 0)
	must(t, err)
	var lines []string
	for _, e := range events {
		lines = append(lines, e.At.Format(time.RFC3339)+" "+e.Words())
	}
	return strings.Join(lines, "\n")
}

// TestKilledBackups: svc backup and svc restore, killed at any moment, leave nothing
// that looks complete, and what was there before stays.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range 300 {
		files[fmt.Sprintf("configs/c%d.json", i)] = apiload.Canonical(apiload.NewDocument("config", "string", fmt.Sprint("c", i), "", apiload.ValueOf("string", strings.Repeat("x", 4000))))
	}
	w := newWorkplace(t, files, 1)
	path, err := svcbinary.Swift()
	must(t, err)
	folder := t.TempDir()
	archive, dir := filepath.Join(folder, "backup.tar"), filepath.Join(folder, "restored")
	_, err = command(t.Context(), "backup", archive, "--data", w.dir)
	must(t, err)
	rounds, killed := 60, 0
	if testing.Short() {
		rounds = 12
	}
	for n := range rounds {
		for _, args := range [][]string{{"backup", archive, "--data", w.dir}, {"restore", archive, "--data", dir}} {
			cmd := exec.Command(path, args...)
			must(t, cmd.Start())
			time.Sleep(time.Duration(n) * time.Millisecond)
			_ = cmd.Process.Kill() // it may have ended
			if cmd.Wait() != nil {
				killed++
			}
		}
		check := filepath.Join(folder, "check")
		_, err := command(t.Context(), "restore", archive, "--data", check)
		must(t, err)
		must(t, os.RemoveAll(check))
		if _, err := os.Stat(dir); err == nil {
			gitIn(t, filepath.Join(dir, local.RepositoryName)).Sound(t)
			if len(audited(t, dir)) == 0 {
				t.Error("what has its name lacks the audit trail")
			}
			must(t, os.RemoveAll(dir))
		}
	}
	// What a kill leaves has a name of its own. The telemetry's is taken away as soon as
	// the file is open, but a kill can come between the two.
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		if !slices.ContainsFunc([]string{".svc.unfinished-", "restored.unfinished-", "backup.tar"}, func(begin string) bool { return strings.HasPrefix(e.Name(), begin) }) {
			t.Errorf("%s was left", e.Name())
		}
	}
	t.Logf("%d of %d were killed", killed, 2*rounds)
}

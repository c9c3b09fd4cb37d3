package apitest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

const clients = 16

// operations is how many requests each client sends.
func operations() int {
	if testing.Short() {
		return 16
	}
	return 36
}

// TestManyClientsSeeOneOrderAcrossKills kills the server under the clients again and
// again. Writes that it had not answered may have happened or not.
func TestManyClientsSeeOneOrderAcrossKills(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, apiload.Fixture(), clients)
	git := gitIn(t, w.repository())
	port, seed, kills := freeport.Take(), apiload.Seed(t), 12
	if testing.Short() {
		kills = 3
	}
	p := launch(t, svcbinary.Watched, w, port)
	l := apiload.New(t, p.base)
	ctx := background(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx, seed, w.keys, operations())
	}()
	r, total := apiload.Random(seed, clients), clients*operations()
	for n := range kills {
		if !l.Await(total*(n+1)/(kills+1)+r.IntN(total/(2*kills)), ended) {
			t.Fatalf("the load ended before kill %d", n+1)
		}
		p.kill(t)
		p = launch(t, svcbinary.Watched, w, port)
	}
	<-ended
	l.ReportRich(t)
	l.JudgeAll(t, git).Demand(t)
	git.Agrees(t, l.Client, p.base, w.keys[0], apiload.Items...)
	p.stop(t)
}

// store is what a control plane stands on: what a broken one breaks.
type store interface {
	control.Authenticator
	repository.Ledger
}

// blind is a ledger without compare-and-set: the later of two writers overwrites what
// came between.
type blind struct {
	*local.Ledger
	lock *sync.Mutex
}

func (b blind) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	head, err := b.Ledger.Advance(ctx, from, c)
	if !errors.Is(err, repository.ErrMoved) {
		return head, err
	}
	if _, err := b.Objects().Tree(ctx, repository.Head{Commit: c.SHA}); err != nil { // which stores them
		return repository.Head{}, err
	}
	branch := filepath.Join(b.Repository(), "refs", "heads", "main")
	next := filepath.Join(b.Repository(), "blind")
	if err := errors.Join(os.WriteFile(next, []byte(c.SHA+"\n"), 0o666), os.Rename(next, branch)); err != nil {
		return repository.Head{}, err
	}
	return b.Ledger.Head(ctx)
}

// stale is a ledger that now and then lets in at an earlier head. Writes are safe with
// it, since they compare the head; reads are not.
type stale struct {
	*local.Ledger
	lock *sync.Mutex
	seen *[]repository.Head
}

func (s stale) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	entry, err := s.Ledger.Authenticate(ctx, key, once)
	s.lock.Lock()
	defer s.lock.Unlock()
	seen := *s.seen
	if err == nil && (len(seen) == 0 || seen[len(seen)-1].Sequence < entry.Head.Sequence) {
		seen = append(seen, entry.Head)
		*s.seen = seen
	}
	if err == nil && rand.IntN(4) == 0 {
		entry.Head = seen[max(0, len(seen)-6)]
	}
	return entry, err
}

// forgetful is a ledger that forgets what has landed under an Idempotency-Key.
type forgetful struct{ *local.Ledger }

func (f forgetful) Authenticate(ctx context.Context, key access.Key, _ string) (control.Entry, error) {
	return f.Ledger.Authenticate(ctx, key, "")
}

// TestABrokenStoreIsCaught has the same clients work on a sound store and on broken ones,
// and the same judges find nothing, and find it out.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name       string
		harm       func(*local.Ledger) store
		operations int // of each client
		by         apiload.Judges
	}{
		{"sound", func(l *local.Ledger) store { return l }, operations(), apiload.Judges{}},
		{"without compare-and-set", func(l *local.Ledger) store { return blind{l, &sync.Mutex{}} }, 10, apiload.Judges{Porcupine: true, History: true}},
		{"with stale reads", func(l *local.Ledger) store { return stale{l, &sync.Mutex{}, &[]repository.Head{}} }, 10, apiload.Judges{Porcupine: true}},
		{"without a memory of keys", func(l *local.Ledger) store { return forgetful{l} }, 10, apiload.Judges{History: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.by.Catch(t, func() apiload.Findings {
				w := newWorkplace(t, apiload.Fixture(), clients)
				git := gitIn(t, w.repository())
				ledger := must.Get(local.Open(background(t), w.dir, local.Options{Rewritten: func(local.Rewrite) {}}))(t)
				defer ledger.Close()
				l := apiload.New(t, serveInstances(t, test.harm(ledger), ledger))
				l.Run(background(t), apiload.Seed(t), w.keys, test.operations)
				if test.by == (apiload.Judges{}) {
					l.ReportRich(t)
				}
				return l.JudgeAll(t, git)
			})
		})
	}
}

// serveInstances serves several instances at one address over one ledger, each request by
// any of them. A single one lets its own writers take turns, so that they never race at
// the ledger.
func serveInstances(t *testing.T, s store, ledger *local.Ledger) (base string) {
	t.Helper()
	const instances, public = 4, "https://svc.test"
	var handlers []http.Handler
	for range instances {
		repo := repository.New(s, ledger.Objects())
		service := control.New(control.Settings{
			Authenticator: s,
			Repository:    func(context.Context, string) (control.Repository, error) { return repo, nil },
			Now:           time.Now,
			PublicURL:     public,
		})
		api := must.Get(httpapi.New(httpapi.Options{Service: service, PublicURL: public, Limit: unlimited}, httpapi.All()...))(t)
		handlers = append(handlers, api)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[rand.IntN(instances)].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// workspaceIn is the id of a data directory's workspace.
func workspaceIn(t *testing.T, dir string) string {
	t.Helper()
	registry := must.Get(local.OpenRegistry(dir))(t)
	defer registry.Close()
	ws := must.Get(registry.Workspace(t.Context()))(t)
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
		must.Get(command(t.Context(), "key", "create", "--kind", "service-account", "--name", fmt.Sprint("ci-", n), "--role", "engineer", "--data", w.dir))(t)
		all[n] = taken{path: filepath.Join(t.TempDir(), "backup.tar"), keys: audited(t, w.dir)}
		for i := range acknowledged {
			if commit := acknowledged[i].Load(); commit != nil {
				all[n].before = append(all[n].before, *commit)
			}
		}
		must.Get(command(t.Context(), "backup", all[n].path, "--data", w.dir))(t)
	}
	end()
	working.Wait()
	p.stop(t)
	live := gitIn(t, w.repository())
	dir := ""
	for n, b := range all {
		dir = filepath.Join(t.TempDir(), "restored")
		out := must.Get(command(t.Context(), "restore", b.path, "--data", dir))(t)
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
	events := must.Get(embedded.Audit(t.Context(), dir, 0))(t)
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
	path := must.Get(svcbinary.Swift())(t)
	folder := t.TempDir()
	archive, dir := filepath.Join(folder, "backup.tar"), filepath.Join(folder, "restored")
	must.Get(command(t.Context(), "backup", archive, "--data", w.dir))(t)
	rounds, killed := 60, 0
	if testing.Short() {
		rounds = 12
	}
	for n := range rounds {
		for _, args := range [][]string{{"backup", archive, "--data", w.dir}, {"restore", archive, "--data", dir}} {
			cmd := exec.Command(path, args...)
			must.Do(t, cmd.Start())
			time.Sleep(time.Duration(n) * time.Millisecond)
			_ = cmd.Process.Kill() // it may have ended
			if cmd.Wait() != nil {
				killed++
			}
		}
		check := filepath.Join(folder, "check")
		must.Get(command(t.Context(), "restore", archive, "--data", check))(t)
		must.Do(t, os.RemoveAll(check))
		if _, err := os.Stat(dir); err == nil {
			gitIn(t, filepath.Join(dir, local.RepositoryName)).Sound(t)
			if len(audited(t, dir)) == 0 {
				t.Error("what has its name lacks the audit trail")
			}
			must.Do(t, os.RemoveAll(dir))
		}
	}
	// What a kill leaves has a name of its own. The telemetry's is taken away as soon as
	// the file is open, but a kill can come between the two.
	entries := must.Get(os.ReadDir(folder))(t)
	for _, e := range entries {
		if !slices.ContainsFunc([]string{".svc.unfinished-", "restored.unfinished-", "backup.tar"}, func(begin string) bool { return strings.HasPrefix(e.Name(), begin) }) {
			t.Errorf("%s was left", e.Name())
		}
	}
	t.Logf("%d of %d were killed", killed, 2*rounds)
}

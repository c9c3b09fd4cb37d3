package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// furnish gives a workspace something of everything that a backup holds.
func furnish(t testing.TB, s *service, w *Workspace) (keys []access.Key) {
	t.Helper()
	s.edit(t, w, 5)
	must.Get(w.Compact(ctx, Compacting{All: true}))(t)
	s.edit(t, w, 2)
	for i := range 3 {
		k, _, err := w.IssueKey(ctx, "Ada", access.KeyRequest{Kind: access.KindUser, Name: fmt.Sprint("Ada", i), Email: fmt.Sprint("ada", i, "@acme.example"), Roles: []string{"engineer"}})
		must.Do(t, err)
		keys = append(keys, k)
		must.Do(t, s.Stores.table.MarkUsed(ctx, w.id(), k.ID(), "2026-11-22"))
	}
	must.Get(w.Registry().By("Ada").RevokeKey(ctx, keys[2].ID(), time.Now()))(t)
	report(t, w, 40, 0)
	proposed := &request.Request{State: request.Open, Title: "Launch", Author: request.Person{ID: "0000000000000001", Name: "Ada"}, Operations: "[]"}
	must.Do(t, w.stores.requests.Create(ctx, w.ID, proposed, nil))
	return keys
}

// report records contexts, pairs, shapes and evaluations.
func report(t testing.TB, w *Workspace, n int, round byte) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	b := telemetry.Batch{ID: [32]byte{1, round}, Received: now}
	for i := range n {
		kind := []string{"user", "team"}[i%2]
		b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: kind, Key: fmt.Sprint("k", i), LastSeen: now.Add(time.Duration(round) * time.Millisecond),
			Properties: []telemetry.Property{{Name: "plan", Kind: telemetry.String, Text: "pro"}}})
		b.Pairs = append(b.Pairs, telemetry.Pair{Month: telemetry.MonthOf(now), Type: kind, Key: fmt.Sprint("k", i)})
	}
	b.Shapes = []telemetry.KnownShape{{Type: "user", Fields: map[string][]telemetry.Kind{"plan": {telemetry.String}}}}
	b.Evaluations = []telemetry.Evaluation{{Environment: "production", Key: "a", Value: "true", At: now, Count: 3}}
	if done, err := w.stores.usage.Record(ctx, w.ID, b); err != nil || done.Behind != nil {
		t.Fatal(err, done.Behind)
	}
}

// told is what a workspace shows of itself.
type told struct {
	Head       string
	Files      map[string]string
	Principals []access.Principal
	Keys       []access.KeyRecord
	Uses       map[access.ID]string
	Audit      any
	Contexts   []telemetry.Saved
	Shapes     []telemetry.KnownShape
	Usage      telemetry.Usage
	Record     access.Workspace
	Requests   string
}

func tell(t testing.TB, w *Workspace) (x told) {
	t.Helper()
	s, err := w.Snapshot(ctx)
	check := func(failed error) {
		if failed != nil {
			t.Helper()
			t.Fatal(failed)
		}
	}
	check(err)
	x.Head, x.Files = s.Head.Commit, map[string]string{}
	for _, f := range s.Files {
		x.Files[f.Path] = string(f.Text)
	}
	r := w.Registry()
	x.Principals, err = r.Principals(ctx)
	check(err)
	x.Keys, err = r.Keys(ctx)
	check(err)
	x.Uses, err = r.LastUses(ctx)
	check(err)
	x.Audit, err = w.Audit(ctx, 0)
	check(err)
	x.Contexts, err = w.stores.usage.Contexts(ctx, w.ID, telemetry.Query{Environment: "production", Limit: 1000})
	check(err)
	x.Shapes, err = w.stores.usage.Shapes(ctx, w.ID)
	check(err)
	x.Usage, err = w.stores.usage.Usage(ctx, w.ID, telemetry.MonthOf(time.Now()))
	check(err)
	x.Record, err = w.stores.table.Workspace(ctx, w.id())
	check(err)
	var requests bytes.Buffer
	check(w.stores.requests.Archive(ctx, w.ID, &requests))
	x.Requests = requests.String()
	return x
}

func same(t testing.TB, got, want told) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s: %+v\nwant %+v", g.Type().Field(i).Name, g.Field(i), w.Field(i))
		}
	}
}

func archive(t testing.TB, w *Workspace) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Get(w.Backup(ctx, &b, t.TempDir(), nil))(t)
	return b.Bytes()
}

// TestOneFormOfArchives: what is hosted is restored on a disk, and the other way round.
func TestOneFormOfArchives(t *testing.T) {
	from, to := newService(t), newService(t)
	w := from.create(t, "acme", directory(t, "a", "b"))
	furnish(t, from, w)
	want := tell(t, w)
	dir := filepath.Join(t.TempDir(), "restored")
	r, err := backup.Restore(ctx, bytes.NewReader(archive(t, w)), dir)
	if err != nil || !r.Telemetry || r.Format != 2 || r.Commit != want.Head || r.Keys != len(want.Keys) {
		t.Fatalf("%+v, %v", r, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.jsonl")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if events, err := embedded.Audit(ctx, dir, 0); err != nil || !reflect.DeepEqual(any(events), want.Audit) {
		t.Errorf("%+v, %v", events, err)
	}
	git(t, filepath.Join(dir, "repository.git"), "fsck", "--strict")
	git(t, filepath.Join(dir, "repository.git"), "branch", "side")
	var b bytes.Buffer
	must.Get(backup.Write(ctx, dir, &b, t.TempDir()))(t)
	to.create(t, "acme", directory(t))
	if _, err := to.Restore(ctx, bytes.NewReader(b.Bytes()), Restoration{}); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("beside another one of its name: %v", err)
	}
	to = newService(t)
	back := must.Get(to.Restore(ctx, &b, Restoration{}))(t)
	clean(t, back.Workspace)
	if !slices.Equal(back.References, []string{"refs/heads/side"}) {
		t.Errorf("%v are left out", back.References)
	}
	same(t, tell(t, back.Workspace), want)
}

// TestNoSessionIsInABackup: one that was ended since would be live again.
func TestNoSessionIsInABackup(t *testing.T) {
	from, to := newService(t), newService(t)
	w := from.create(t, "acme", directory(t, "a"))
	furnish(t, from, w)
	var before []access.KeyRecord
	before = append(before, tell(t, w).Keys...)
	login := access.KeyRequest{Kind: access.KindOneTime, Name: "Ada", Email: "ada0@acme.example", Expires: access.OneTimeFor}
	for range 2 {
		oneTime, _, err := w.IssueKey(ctx, "", login)
		must.Do(t, err)
		_, _, err = w.Registry().SignIn(ctx, oneTime, access.Key{})
		must.Do(t, err)
	}
	_, _, err := w.IssueKey(ctx, "", login)
	must.Do(t, err)
	text := archive(t, w)
	for range 2 {
		back := must.Get(to.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
		if got := tell(t, back.Workspace).Keys; !reflect.DeepEqual(got, before) {
			t.Errorf("restored are %v, want %v", got, before)
		}
		clean(t, back.Workspace)
		dir := filepath.Join(t.TempDir(), "restored")
		r, err := backup.Restore(ctx, bytes.NewReader(text), dir)
		if err != nil || r.Keys != len(before) {
			t.Errorf("%d keys are restored on a disk, %v; want %d", r.Keys, err, len(before))
		}
		var b bytes.Buffer // of a data directory
		must.Get(backup.Write(ctx, dir, &b, t.TempDir()))(t)
		to, text = newService(t), b.Bytes()
	}
}

// errCut ends all that a process asks of its stores, as its end would.
var errCut = errors.New("the process has ended")

// cut makes stores that answer so many requests and no more.
func (s *service) cut(t testing.TB, requests int64) *Stores {
	var asked atomic.Int64
	return s.asking(t, func() error {
		if asked.Add(1) > requests {
			return errCut
		}
		return nil
	})
}

// TestRestoresThatAreInterrupted: wherever one ends, nobody is served, and another one
// makes the workspace whole, of another archive too.
func TestRestoresThatAreInterrupted(t *testing.T) {
	from := newService(t)
	w := from.create(t, "acme", directory(t, "a", "b"))
	keys := furnish(t, from, w)
	want, text := tell(t, w), archive(t, w)
	extra := key(t, w)
	report(t, w, 60, 9)
	from.edit(t, w, 3)
	later := archive(t, w)
	rounds := 25
	if testing.Short() {
		rounds = 6
	}
	to := newService(t)
	for round := range rounds {
		archive := later
		if round%2 == 0 {
			archive = text
		}
		requests := rand.Int64N(80)
		if _, err := to.cut(t, requests).Restore(ctx, bytes.NewReader(archive), Restoration{Dir: t.TempDir()}); err == nil {
			t.Logf("%d requests are enough", requests)
			break
		}
		if all, err := to.Workspaces(ctx); err != nil || len(all) > 0 {
			t.Fatalf("after %d requests there is %+v, %v", requests, all, err)
		}
		for _, k := range append(slices.Clone(keys), extra) {
			if _, err := to.Stores.table.Authenticate(ctx, k, ""); !errors.Is(err, repository.ErrNewer) && !errors.Is(err, access.ErrNotFound) {
				t.Fatalf("after %d requests a key is answered %v", requests, err)
			}
		}
		if _, err := to.Find(ctx, w.ID); err == nil {
			t.Fatalf("after %d requests there is a workspace to work on", requests)
		}
	}
	to = newService(t)
	for _, requests := range []int64{20, 50, 75} {
		if _, err := to.cut(t, requests).Restore(ctx, bytes.NewReader(later), Restoration{}); err == nil {
			t.Fatal("it was not interrupted")
		}
	}
	r := must.Get(to.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
	clean(t, r.Workspace)
	same(t, tell(t, r.Workspace), want)
	if _, err := to.Stores.table.Authenticate(ctx, extra, ""); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a key that the archive does not have: %v", err)
	}
	if rows := to.rows(t, "access/"); len(rows) != len(want.Keys)+len(want.Principals) {
		t.Errorf("%d rows", len(rows))
	}
	if _, err := r.Compact(ctx, Compacting{All: true}); err != nil {
		t.Error(err)
	}
	clean(t, r.Workspace)
}

// TestHostedBackupsBesideWriters of everything: each is of one moment.
func TestHostedBackupsBesideWriters(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	ended, end := context.WithCancel(ctx)
	done, began := make(chan error, 4), time.Now()
	go func() { // commits
		for i := 0; ended.Err() == nil; i++ {
			base, err := w.Snapshot(ctx)
			if err == nil {
				_, err = w.repo.Commit(ctx, base, repository.Draft{Changes: []repository.Change{{Path: "feature-flags/a.json", Content: []byte(strings.Replace(flag("a", i%2 == 0), `"tags": []`, fmt.Sprintf(`"tags": ["t%d"]`, i), 1))}}, Author: ada(), Committer: ada(), Message: "x\n"})
			}
			if err != nil && !errors.Is(err, repository.ErrMoved) { // by an edit of keys
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() { // keys, as fast as they come
		for i := 0; ended.Err() == nil; i++ {
			if _, _, err := w.IssueKey(ctx, "Ada", access.KeyRequest{Kind: access.KindUser, Name: fmt.Sprint("n", i), Email: fmt.Sprint(i, "@acme.example"), Roles: []string{"member"}}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() { // merges
		for ended.Err() == nil {
			if _, err := w.Compact(ctx, Compacting{}); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() { // telemetry: the same people, seen again and again
		for i := 0; ended.Err() == nil; i++ {
			report(t, w, 20, byte(i))
		}
		done <- nil
	}()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	var archives [][]byte
	var before []int64
	for range rounds {
		h := must.Get(w.ledger.Head(ctx))(t)
		before = append(before, h.Sequence)
		archives = append(archives, archive(t, w))
		time.Sleep(50 * time.Millisecond)
	}
	end()
	for range 4 {
		must.Report(t, <-done)
	}
	last := must.Get(w.ledger.Head(ctx))(t)
	t.Logf("%d commits and %d edits of keys beside %d backups, in %d ms", last.Sequence, last.Access, rounds, time.Since(began).Milliseconds())
	for i, text := range archives {
		to := newService(t)
		r, err := to.Restore(ctx, bytes.NewReader(text), Restoration{})
		if err != nil {
			t.Fatalf("backup %d: %v", i, err)
		}
		clean(t, r.Workspace)
		head, err := r.ledger.Head(ctx)
		if err != nil || head.Sequence < before[i] {
			t.Errorf("backup %d has %d commits of %d, %v", i, head.Sequence, before[i], err)
		}
		// Each edit made one principal, one key, and one entry.
		x := tell(t, r.Workspace)
		entries, err := r.Registry().Audit(ctx, 0)
		if err != nil || len(x.Keys) != len(x.Principals) || int64(len(entries)) != head.Access-1 {
			t.Errorf("backup %d: %d keys, %d principals, %d entries at version %d, %v", i, len(x.Keys), len(x.Principals), len(entries), head.Access, err)
		}
		if places := len(to.rows(t, "telemetry/"+r.ID+"/seen/")); places != len(to.rows(t, "telemetry/"+r.ID+"/context/")) || places != 20 {
			t.Errorf("backup %d has %d places of 20 contexts", i, places)
		}
	}
}

// TestTwoRestoresAtOnce of one workspace, of different archives: one of them at most, and
// nothing of the other's.
func TestTwoRestoresAtOnce(t *testing.T) {
	from := newService(t)
	w := from.create(t, "acme", directory(t, "a", "b"))
	furnish(t, from, w)
	first, early := tell(t, w), archive(t, w)
	key(t, w)
	from.edit(t, w, 2)
	second, late := tell(t, w), archive(t, w)
	rounds, ended := 8, 0
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		to := newService(t)
		var group sync.WaitGroup
		var failed [2]error
		for i, text := range [][]byte{early, late} {
			group.Go(func() { _, failed[i] = to.Restore(ctx, bytes.NewReader(text), Restoration{Dir: t.TempDir()}) })
		}
		group.Wait()
		want := first
		switch {
		case failed[0] == nil && failed[1] == nil:
			t.Fatal("both have ended")
		case failed[0] != nil && failed[1] != nil:
			continue
		case failed[1] == nil:
			want = second
		}
		ended++
		found := must.Get(to.Find(ctx, w.ID))(t)
		clean(t, found)
		same(t, tell(t, found), want)
		if rows := to.rows(t, "access/"); len(rows) != len(want.Keys)+len(want.Principals) {
			t.Errorf("%d rows of %d keys and %d principals", len(rows), len(want.Keys), len(want.Principals))
		}
	}
	t.Logf("in %d of %d rounds one has ended", ended, rounds)
}

// TestABackupOfDamage: what lies elsewhere too is found there, and what does not fails the
// backup, which says where to look.
func TestABackupOfDamage(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 3)
	packs := must.Get(w.ledger.Packs(ctx))(t)
	head := must.Get(w.ledger.Head(ctx))(t)
	if _, err := w.objects.Merge(ctx, packs, head.Fence+1, nil); err != nil { // which the table does not name
		t.Fatal(err)
	}
	s.damage(t, w, packs[0])
	to, text := newService(t), archive(t, w)
	r := must.Get(to.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
	clean(t, r.Workspace)
	stored := must.Get(w.objects.List(ctx))(t)
	for _, name := range stored {
		if name != packs[0] {
			s.damage(t, w, name)
		}
	}
	var b bytes.Buffer
	if _, err := w.Backup(ctx, &b, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "svcadmin fsck tells more") || b.Len() > 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	// In the bucket of the damage a restore makes whole what the archive has.
	damaged := *newService(t).Stores
	damaged.bucket = s.Stores.bucket
	r = must.Get(damaged.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
	clean(t, r.Workspace)
}

package admin

import (
	"context"
	"errors"
	flags "flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/standin"
)

// budget is a context whose deadline comes with a request: after so many.
type budget struct {
	context.Context
	mu    sync.Mutex
	left  int
	ended chan struct{}
}

func newBudget(requests int) *budget {
	return &budget{Context: ctx, left: requests, ended: make(chan struct{})}
}

func (b *budget) Done() <-chan struct{} { return b.ended }

func (b *budget) Err() error {
	select {
	case <-b.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (b *budget) spend() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left == 0 {
		close(b.ended)
	}
	return nil
}

// TestMaintenanceGoesOnWhereItStopped: a deadline at any request is no error when something
// was merged, and the runs together do what one would have done. One that comes no further
// is an error, and not repeated for ever.
func TestMaintenanceGoesOnWhereItStopped(t *testing.T) {
	for _, requests := range []int{1, 10, 60, 150, 270} {
		s := newService(t)
		w := s.create(t, "one", directory(t, "a"))
		s.edit(t, w, 70)
		var now *budget
		stores := s.asking(t, func() error { return now.spend() })
		checked, errs := 0, 0
		for more := true; more; {
			now = newBudget(requests)
			done, again, err := stores.MaintainWorkspace(now, access.ID(w.ID), silent)
			if err != nil && (again || done.Merged > 0 || done.Error == "") || len(done.Problems) > 0 {
				t.Fatalf("with %d requests: %+v, %v", requests, done, err)
			}
			if checked, more = max(checked, done.Checked), again; err != nil {
				errs++
				requests, more = requests+400, true // it is tried again
			}
		}
		packs, err := w.ledger.Packs(ctx)
		if err != nil || len(packs) >= compactFrom || checked != 71 || requests < 100 && errs == 0 {
			t.Errorf("%d packs are left, %d commits checked, and %d runs failed, %v", len(packs), checked, errs, err)
		}
		again, more, err := s.MaintainWorkspace(ctx, access.ID(w.ID), silent)
		if err != nil || more || again.Checked != 0 || again.Merged != 0 {
			t.Errorf("once more: %+v, %v, %v", again, more, err)
		}
		clean(t, w)
	}
}

var silent = slog.New(slog.DiscardHandler)

// TestACheckMissesEachRow, wherever it has been.
func TestACheckMissesEachRow(t *testing.T) {
	s := newService(t)
	w := s.create(t, "one", directory(t, "a"))
	s.edit(t, w, 12)
	for _, partition := range []string{"log/", "ids/", "item/"} {
		rows := s.rows(t, partition+w.ID)
		for _, n := range []int{0, len(rows) / 2, len(rows) - 1} {
			s.deleteRow(t, rows[n])
			if found, err := w.Check(ctx, Checking{}); err != nil || len(found.Problems) == 0 {
				t.Errorf("%s row %d is gone: %+v, %v", partition, n, found, err)
			}
			s.putRow(t, rows[n])
		}
	}
	clean(t, w)
}

func headOf(t *testing.T, w *Workspace) string {
	t.Helper()
	head := must.Get(w.ledger.Head(ctx))(t)
	return head.Commit
}

// TestAnIdleWorkspaceCostsTwoReads, once a day has passed in which nothing was written; until
// something is.
func TestAnIdleWorkspaceCostsTwoReads(t *testing.T) {
	s := newSite(t, 0)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, compactFrom+6)
	run := func() (MaintainedWorkspace, map[string]int) {
		t.Helper()
		s.asked.Take()
		done, more, err := s.MaintainWorkspace(ctx, access.ID(w.ID), silent)
		if err != nil || more || len(done.Problems) > 0 {
			t.Fatalf("%+v, %v, %v", done, more, err)
		}
		return done, s.asked.Take().Requests()
	}
	least := map[string]int{"GetItem": 1, "GetObject": 1}
	settles := func() (merged, removed, checked int) {
		t.Helper()
		for range 12 {
			done, asked := run()
			if merged, removed, checked = merged+done.Merged, removed+done.Removed, checked+done.Checked; maps.Equal(asked, least) {
				return merged, removed, checked
			}
			s.clock.Pass(6 * time.Hour)
		}
		t.Error("three days later a run still costs more than two reads")
		return merged, removed, checked
	}
	if merged, removed, checked := settles(); merged == 0 || removed == 0 || checked == 0 {
		t.Errorf("%d packs merged, %d removed, %d commits checked", merged, removed, checked)
	}
	s.edit(t, w, 1)
	if _, _, checked := settles(); checked == 0 {
		t.Error("what was written after that was not checked")
	}
	must.Get(w.Reindex(ctx, "", Checking{Dir: t.TempDir()}))(t)
	rows := 0
	for range 8 {
		done, _ := run()
		rows += done.Rows
		s.clock.Pass(6 * time.Hour)
	}
	if settles(); rows == 0 {
		t.Error("rows that a reindex has replaced stay")
	}
}

// tree is a repository of a drawn history: edits, deletions, foreign files,
// executables, branches that are merged.
func drawHistory(t testing.TB, r *rapid.T, dir string) {
	git(t, dir, "init", "-q", "-b", "trunk")
	keys := []string{"a", "b", "c"}
	edit := func(n int) {
		key := rapid.SampledFrom(keys).Draw(r, "key")
		path := "feature-flags/" + key + ".json"
		switch rapid.IntRange(0, 5).Draw(r, "edit") {
		case 0:
			_ = os.Remove(filepath.Join(dir, filepath.FromSlash(path)))
		case 1:
			write(t, dir, "docs/note.md", fmt.Sprint(n))
		case 2:
			write(t, dir, "tools/run.sh", fmt.Sprint(n))
			must.Do(t, os.Chmod(filepath.Join(dir, "tools", "run.sh"), 0o777))
		default:
			write(t, dir, path, strings.Replace(flag(key, n%2 == 0), `"tags": []`, fmt.Sprintf(`"tags": ["t%d"]`, n), 1))
		}
	}
	commit := func(n int) {
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Commit %d", n), "--date", fmt.Sprintf("2026-01-01T00:00:%02dZ", n%60))
	}
	write(t, dir, "svc.json", declared)
	commit(0)
	for n := range rapid.IntRange(1, 6).Draw(r, "commits") {
		if rapid.IntRange(0, 3).Draw(r, "branch") == 0 {
			git(t, dir, "checkout", "-q", "-b", fmt.Sprint("side", n))
			edit(10 + n)
			commit(10 + n)
			git(t, dir, "checkout", "-q", "trunk")
			edit(20 + n)
			commit(20 + n)
			merge(t, dir, fmt.Sprint("side", n))
			commit(30 + n)
			continue
		}
		edit(n + 1)
		commit(n + 1)
	}
	if rapid.Bool().Draw(r, "packed") {
		git(t, dir, "gc", "-q")
	}
}

// merge begins a merge, conflicts and all: whatever lies there is committed.
func merge(t testing.TB, dir, branch string) {
	out, err := realgit.Try(t, dir, "merge", "-q", "--no-commit", "--no-ff", "-X", "ours", branch)
	if _, begun := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); begun != nil {
		t.Fatalf("git merge: %v\n%s", err, out)
	}
}

// TestHistoriesComeAndGoUnchanged: what is imported and exported again is the
// same commits, and in between the index says what git says.
func TestHistoriesComeAndGoUnchanged(t *testing.T) {
	s := newService(t)
	fewer(t, 15) // each runs real git dozens of times
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		from, to := t.TempDir(), filepath.Join(t.TempDir(), "out")
		drawHistory(t, r, from)
		w := s.create(t, fmt.Sprint("w", n), from)
		clean(t, w)
		must.Get(w.Export(ctx, to, nil))(r)
		git(t, to, "fsck", "--strict")
		form := "--format=raw"
		if had, has := git(t, from, "log", form), git(t, to, "log", form); had != has {
			r.Fatalf("exported the history is\n%s\nand was\n%s", has, had)
		}
		if status := git(t, to, "status", "--porcelain"); status != "" {
			r.Fatalf("the work tree differs: %s", status)
		}
		// What is written on top goes out with it.
		s.edit(t, w, 2)
		clean(t, w)
	})
}

// fewer lets rapid check less often, unless it was told how often.
func fewer(t *testing.T, checks int) {
	f := flags.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	must.Do(t, f.Value.Set(strconv.Itoa(checks)))
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// TestWhatIsFoundInTheBucketStays: a table of days ago does not name packs of yesterday,
// which the next sweep would take; and what a head that was given up was stored in stays
// for a day.
func TestWhatIsFoundInTheBucketStays(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	base := must.Get(w.ledger.Head(ctx))(t)
	s.edit(t, w, 3)
	head := must.Get(w.ledger.Head(ctx))(t)
	must.Get(w.Reindex(ctx, base.Commit, Checking{}))(t)
	stays := func(when string) {
		t.Helper()
		now := must.Get(w.now(ctx))(t)
		if book, err := w.editUpkeep(ctx, now, func(*upkeep) {}); err != nil || len(book.Retired) != 3 {
			t.Errorf("%s: %d packs stay, %v", when, len(book.Retired), err)
		}
	}
	stays("given up")
	if err := w.stores.bucket.Delete(ctx, "maintenance/"+w.ID+".json"); err != nil { // it was not noted then
		t.Fatal(err)
	}
	for range 2 {
		tips, err := w.Tips(ctx, Checking{})
		if err != nil || len(tips) != 1 || tips[0].SHA != head.Commit || tips[0].Commits != 4 || tips[0].Head || tips[0].Lacks != "" {
			t.Fatalf("%+v, %v", tips, err)
		}
	}
	stays("found")
	if at, err := w.Reindex(ctx, head.Commit, Checking{}); err != nil || at.Commit != head.Commit {
		t.Error(err)
	}
	clean(t, w)
}

// TestCommitsThatLostARace are told from those that were the head: another one followed
// the same commit at about the same time, and was followed itself.
func TestCommitsThatLostARace(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	began := time.Now()
	commit := func(message string, after time.Duration) string {
		t.Helper()
		base := must.Get(w.Snapshot(ctx))(t)
		who := ada()
		who.When = began.Add(after)
		made := must.Get(w.repo.Commit(ctx, base, repository.Draft{
			Changes: []repository.Change{{Path: "feature-flags/a.json", Content: []byte(flag("a", false) + fmt.Sprintf("%*s", len(message), ""))}},
			Author:  who, Committer: who, Message: message + "\n",
		}))(t)
		return made.Head.Commit
	}
	back := func(to string) {
		t.Helper()
		must.Get(w.Reindex(ctx, to, Checking{}))(t)
	}
	base := commit("base", 0)
	commit("a loser", 2*time.Second)
	back(base)
	earlier := commit("before the table was put back", -time.Hour)
	back(base)
	followed := commit("the winner, which is followed", time.Second)
	loser := commit("one at the end", 10*time.Second)
	back(followed)
	head := commit("another one at the end", 11*time.Second)
	tips, err := w.Tips(ctx, Checking{})
	if err != nil || len(tips) != 4 || tips[0].SHA != head || !tips[0].Head || tips[1].SHA != earlier || tips[1].Rival || !tips[2].Rival || !tips[3].Rival {
		t.Fatalf("%+v, %v", tips, err)
	}
	// Without a table the last two are alike.
	lost := func() *Stores {
		t.Helper()
		other := *s
		other.table = standin.Table(t, s.db)
		cfg := must.Get(standin.OperatorConfig(ctx, t.Setenv, standin.DynamoDB(t), standin.S3(t)))(t)
		stores := Open(cfg, other.table, s.bucketName)
		must.Do(t, stores.CreateTable(ctx))
		return stores
	}
	if _, tips, err := lost().Recover(ctx, Recovery{ID: access.ID(w.ID), Name: "acme"}); !errors.Is(err, ErrTips) || tips[0].SHA != head || tips[1].SHA != loser || tips[1].Rival {
		t.Errorf("%+v, %v", tips, err)
	}
	// Where others have followed, what lost is no candidate.
	w = s.create(t, "other", directory(t, "a"))
	base = commit("base", 0)
	commit("a loser", 2*time.Second)
	back(base)
	commit("the winner", time.Second)
	head = commit("the last", time.Minute)
	recovered, tips, err := lost().Recover(ctx, Recovery{ID: access.ID(w.ID), Name: "other"})
	if err != nil {
		t.Fatalf("%+v, %v", tips, err)
	}
	if at, err := recovered.ledger.Head(ctx); err != nil || at.Commit != head {
		t.Errorf("it is at %s, %v; want %s", at.Commit, err, head)
	}
}

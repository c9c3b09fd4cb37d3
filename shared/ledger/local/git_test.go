package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// write advances until it is through, and returns the commit.
func write(t testing.TB, l *Ledger, key, text string) repository.Commit {
	t.Helper()
	for {
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, key, text)
		after, err := l.Advance(background, from, c)
		if err == nil {
			c.Sequence = after.Sequence
			return c
		}
		if !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrBusy) {
			t.Fatal(err)
		}
	}
}

// agree checks that the ledger's history is the repository's, and that the
// repository is sound.
func agree(t testing.TB, l *Ledger, commits int) {
	t.Helper()
	g := gitIn(t, l.Repository())
	if out := g.run("fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
	at := head(t, l)
	if want := g.run("rev-parse", "main"); at.Commit != want {
		t.Errorf("the head is %s, want %s", at.Commit, want)
	}
	rows := must.Get(l.Since(background, at, 0))(t)
	if count := g.run("rev-list", "--count", "main"); strconv.Itoa(len(rows)) != count || len(rows) != commits {
		t.Errorf("%d commits in the history and %s in the repository, want %d", len(rows), count, commits)
	}
	seen := map[string]bool{}
	for _, c := range rows {
		if seen[c.SHA] || c.Parent != "" && !seen[c.Parent] {
			t.Fatalf("%s is there twice, or before its parent", c.SHA)
		}
		seen[c.SHA] = true
	}
	for _, name := range []string{branchLock, nextHead, nextHead + "-link"} {
		if _, err := os.Stat(filepath.Join(l.Repository(), name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
}

// pushes commits through a clone, as often as it takes.
func pushes(g repo, name string, count int) {
	for n := 0; n < count; {
		g.run("fetch", "-q", "origin")
		g.run("reset", "-q", "--hard", "origin/main")
		g.write(fmt.Sprintf("configs/%s-%d.json", name, n), "{}")
		g.commit(name)
		if _, err := g.try("push", "-q", "origin", "HEAD:main"); err == nil {
			n++
		}
	}
}

func TestPushesAndWritesAtOnce(t *testing.T) {
	testenv.Slow(t)
	l := started(t)
	write(t, l, "first", "0")
	const pushers, writers, each = 2, 2, 6
	var all sync.WaitGroup
	for i := range pushers {
		g := clone(t, l)
		all.Go(func() { pushes(g, fmt.Sprint("push", i), each) })
	}
	for i := range writers {
		all.Go(func() {
			for n := range each {
				write(t, l, fmt.Sprint("write", i), fmt.Sprint(n))
			}
		})
	}
	all.Wait()
	agree(t, l, 1+(pushers+writers)*each)
	for i := range pushers {
		for n := range each {
			path := fmt.Sprintf("configs/push%d-%d.json", i, n)
			if rows, err := l.History(background, head(t, l), repository.Page{Path: path}); err != nil || len(rows) != 1 || !rows[0].Touched[0].Created {
				t.Errorf("%s: %d commits, %v", path, len(rows), err)
			}
		}
	}
}

// A commit in a linked work tree moves the very branch that Advance moves.
func TestCommitsInALinkedWorkTree(t *testing.T) {
	l := started(t)
	write(t, l, "first", "0")
	tree := filepath.Join(t.TempDir(), "tree")
	gitIn(t, l.Repository()).run("worktree", "add", "-q", tree, "main")
	g := gitIn(t, tree)
	const each = 10
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; n < each; {
			// The branch moves under the work tree, and a commit that does not
			// begin with what came meanwhile takes it back. (Not with reset:
			// that moves the branch by itself, and looks at nothing.)
			g.run("read-tree", "--reset", "-u", "HEAD")
			g.write(fmt.Sprintf("configs/%d.json", n), "{}")
			if _, err := g.try("commit", "-q", "-m", "by hand"); err == nil {
				n++
			}
		}
	})
	all.Go(func() {
		for n := range each {
			write(t, l, "api", fmt.Sprint(n))
		}
	})
	all.Wait()
	agree(t, l, 1+2*each)
}

func TestGarbageCollectionAndPackedReferencesMeanwhile(t *testing.T) {
	l := started(t)
	write(t, l, "first", "0")
	g := gitIn(t, l.Repository())
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, arguments := range [][]string{{"pack-refs", "--all", "--prune"}, {"gc", "-q"}} {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = g.try(arguments...) // they may meet each other
				}
			}
		})
	}
	const writes = 40
	for n := range writes {
		write(t, l, "a", fmt.Sprint(n))
	}
	close(stop)
	all.Wait()
	g.run("pack-refs", "--all", "--prune")
	if _, err := os.Stat(filepath.Join(l.Repository(), branch)); !os.IsNotExist(err) {
		t.Fatal("the branch is still loose")
	}
	agree(t, l, 1+writes)
	// Git may take away the directory of an empty set of branches.
	must.Do(t, os.RemoveAll(filepath.Join(l.Repository(), "refs/heads")))
	write(t, l, "a", "after")
	agree(t, l, 2+writes)
}

// holdBranch takes the branch's lock as git does.
func holdBranch(t testing.TB, l *Ledger) string {
	t.Helper()
	lock := filepath.Join(l.Repository(), branchLock)
	f := must.Get(os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666))(t)
	must.Do(t, f.Close())
	return lock
}

// TestAStaleMultiPackIsGoneOnceTheLedgerIsClosed: git may have written it at the last moment,
// and finds no object for which it names a pack that is gone.
func TestAStaleMultiPackIsGoneOnceTheLedgerIsClosed(t *testing.T) {
	t.Parallel()
	l := started(t)
	g := gitIn(t, l.Repository())
	index := filepath.Join(g.dir, "objects/pack/multi-pack-index")
	for i := range 2 {
		write(t, l, "flag", strconv.Itoa(i))
		g.run("repack", "-d", "-q")
	}
	g.run("multi-pack-index", "write")
	names := must.Get(os.ReadFile(index))(t)
	must.Do(t, l.Close())
	g.run("multi-pack-index", "verify") // one that holds is git's

	l = opened(t, filepath.Dir(g.dir), Options{})
	g.run("repack", "-a", "-d", "-q")
	must.Do(t, os.WriteFile(index, names, 0o600))
	must.Do(t, l.Close())
	if _, err := os.Stat(index); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a multi-pack-index of packs that are gone is left: %v", err)
	}
	g.run("fsck", "--strict")

	l = opened(t, filepath.Dir(g.dir), Options{})
	must.Do(t, os.WriteFile(index, []byte("MIDX"), 0o600))
	must.Do(t, l.Close()) // which a damaged one does not keep from
}

func TestGitsLockIsWaitedForAndNeverBroken(t *testing.T) {
	testenv.Slow(t)
	l := started(t)
	write(t, l, "a", "1")
	from := head(t, l)
	c := draft(t, l.Repository(), from.Commit, "a", "2")
	lock := holdBranch(t, l)
	for i, content := range []string{"", from.Commit + "\n", "half"} {
		must.Do(t, os.WriteFile(lock, []byte(content), 0o666))
		words := regexp.MustCompile(`git is writing .*refs/heads/main.lock in the repository has been there for [12]s`) // as long as it is waited for
		if i == 0 {
			long := time.Now().Add(-3 * time.Hour)
			must.Do(t, os.Chtimes(lock, long, long))
			words = regexp.MustCompile(`refs/heads/main.lock in the repository has been there for 3h0m`)
		}
		_, err := l.Advance(background, from, c)
		if !errors.Is(err, repository.ErrBusy) || !words.MatchString(err.Error()) {
			t.Fatalf("with %q in git's lock: %v, want ErrBusy, and %s", content, err, words)
		}
		if left, err := os.ReadFile(lock); err != nil || string(left) != content {
			t.Fatalf("git's lock is now %q, %v", left, err)
		}
	}
	time.AfterFunc(50*time.Millisecond, func() { os.Remove(lock) })
	must.Get(l.Advance(background, from, c))(t)
	agree(t, l, 2)
}

func TestForcedPush(t *testing.T) {
	var rewrites []Rewrite
	dir := created(t)
	options := Options{Rewritten: func(w Rewrite) { rewrites = append(rewrites, w) }}
	l := opened(t, dir, options)
	one := write(t, l, "a", "1")
	g := clone(t, l)
	for n := range 3 {
		write(t, l, "a", fmt.Sprint(2+n))
	}
	old := head(t, l)
	g.write("configs/b.json", "{}")
	forced := g.commit("forced")
	g.run("push", "-q", "--force", "origin", "main")

	now := head(t, l)
	if now.Commit != forced {
		t.Fatalf("the head is %s, want %s", now.Commit, forced)
	}
	if len(rewrites) != 1 {
		t.Fatalf("%d reports", len(rewrites))
	}
	w := rewrites[0]
	if w.Old != old.Commit || w.New != forced || w.Lost != 3 {
		t.Errorf("the report is %+v", w)
	}
	for _, part := range []string{old.Commit, forced, "commits: 3"} {
		if !strings.Contains(w.String(), part) {
			t.Errorf("%q does not tell of %s", w.String(), part)
		}
	}
	checkReplaced(t, l, old, now, one, forced)
	agree(t, l, 2)

	// The sequences survive a start, and a forced push is noticed by one.
	must.Do(t, l.Close())
	g.run("reset", "-q", "--hard", one.SHA)
	g.run("push", "-q", "--force", "origin", "main")
	l = opened(t, dir, options)
	if again := head(t, l); again.Commit != one.SHA || again.Sequence <= now.Sequence {
		t.Errorf("after a start: %+v, before %+v", again, now)
	}
	if len(rewrites) != 2 || rewrites[1].Lost != 1 {
		t.Errorf("after a start: %+v", rewrites[1:])
	}
	checkDeleted(t, l, g)
}

// checkReplaced: a reader that kept something of the old history notices.
func checkReplaced(t *testing.T, l *Ledger, old, now repository.Head, one repository.Commit, forced string) {
	t.Helper()
	if now.Sequence <= old.Sequence+2 {
		t.Errorf("sequence %d begins no higher than the old %d", now.Sequence, old.Sequence)
	}
	rows := must.Get(l.Since(background, now, old.Sequence))(t)
	if len(rows) != 2 || rows[0].SHA != one.SHA || rows[0].Parent != "" || rows[1].SHA != forced {
		t.Errorf("since the old head: %v", rows)
	}
	if _, err := l.Since(background, old, 0); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("reading at the old head: %v", err)
	}
	if _, _, err := l.At(background, now, "feature-flags/a.json", old.Commit); !errors.Is(err, repository.ErrUnknownCommit) {
		t.Errorf("at the old head: %v", err)
	}
	if _, err := l.Advance(background, old, draft(t, l.Repository(), old.Commit, "a", "late")); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("writing on the old head: %v", err)
	}
}

func checkDeleted(t *testing.T, l *Ledger, g repo) {
	t.Helper()
	before := head(t, l)
	gitIn(t, l.Repository()).run("update-ref", "-d", "refs/heads/main")
	// That is no empty workspace, in which a new history could begin.
	if gone, err := l.Head(background); !errors.Is(err, repository.ErrFailed) || !strings.Contains(err.Error(), "no branch main") {
		t.Errorf("without a branch: %+v, %v", gone, err)
	}
	if _, err := l.Advance(background, before, draft(t, l.Repository(), before.Commit, "a", "late")); !errors.Is(err, repository.ErrFailed) {
		t.Errorf("a write without a branch: %v", err)
	}
	g.run("push", "-q", "origin", "main")
	if again := head(t, l); again != before {
		t.Errorf("with the branch again: %+v, before %+v", again, before)
	}
	agree(t, l, 1)
}

// TestMainOf: a repository whose branch is gone is not an empty one, in whatever
// directory it lies.
func TestMainOf(t *testing.T) {
	for _, name := range []string{"plain", "[a]"} {
		dir := filepath.Join(t.TempDir(), name)
		must.Do(t, os.Mkdir(dir, 0o777))
		g := gitIn(t, dir)
		g.run("init", "-q", "-b", "main")
		git := filepath.Join(dir, ".git")
		if got, err := MainOf(git); got != "" || err != nil {
			t.Errorf("%s: before the first commit: %q, %v", name, got, err)
		}
		g.write("feature-flags/a.json", "1")
		want := g.commit("one")
		g.run("repack", "-q", "-a", "-d")
		if got, err := MainOf(git); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		g.run("update-ref", "-d", "refs/heads/main")
		if got, err := MainOf(git); !errors.Is(err, errNoMain) {
			t.Errorf("%s: without the branch: %q, %v", name, got, err)
		}
	}
}

func TestHeadOf(t *testing.T) {
	g := gitIn(t, t.TempDir())
	g.run("init", "-q", "-b", "trunk")
	check := func(when, want string) {
		t.Helper()
		if got, err := HeadOf(filepath.Join(g.dir, ".git")); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", when, got, err, want)
		}
	}
	check("before the first commit", "")
	one := g.commit("one")
	check("loose", one)
	g.run("pack-refs", "--all", "--prune")
	check("packed", one)
	two := g.commit("two")
	g.run("checkout", "-q", "--detach", one)
	check("detached", one)
	g.run("checkout", "-q", "trunk")
	check("back on the branch", two)
	if _, err := HeadOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no git repository") {
		t.Errorf("no repository: %v", err)
	}
}

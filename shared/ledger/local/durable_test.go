package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// recorder notes the steps on the file system, and lets one of them fail.
type recorder struct {
	steps []string
	fail  int // the number of the step that fails, from 1
	then  func() error
}

func (r *recorder) step(op Operation, path string) error {
	r.steps = append(r.steps, string(op)+" "+filepath.Base(path))
	if len(r.steps) == r.fail {
		return r.then()
	}
	return nil
}

// The order of the steps is what survives a power cut: the new id before the
// branch names it, the name before the answer.
func TestAdvanceFlushesBeforeItReturns(t *testing.T) {
	var r recorder
	l := opened(t, created(t), Options{Step: r.step})
	for n := range 3 {
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", fmt.Sprint(n))
		r.steps = nil
		_, err := l.Advance(background, from, c)
		must.Do(t, err)
		var order []string
		for _, step := range r.steps {
			if op, _, _ := strings.Cut(step, " "); slices.Contains([]string{"create", "write", "sync", "link", "rename", "syncdir"}, op) {
				order = append(order, step)
			}
		}
		want := []string{
			"create svc-next", "write svc-next", "sync svc-next", "link main.lock", "rename main", "syncdir heads",
			"write history.cache",
		}
		if !slices.Equal(order, want) {
			t.Errorf("commit %d:\n%s, want\n%s", n, strings.Join(order, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestOpenFlushesTheHead: the process that moved it may have been killed before that.
func TestOpenFlushesTheHead(t *testing.T) {
	dir := created(t)
	must.Do(t, opened(t, dir, Options{}).Close())
	var r recorder
	l := opened(t, dir, Options{Step: r.step})
	if !slices.Contains(r.steps, "syncdir heads") {
		t.Errorf("%q", r.steps)
	}
	must.Do(t, l.Close())
	// git may have packed all branches, and removed their folder.
	must.Do(t, os.RemoveAll(filepath.Join(l.Repository(), "refs", "heads")))
	opened(t, dir, Options{})
}

// TestInstallFlushesFirst: all names below are durable before the directory has
// its own, and that one is before the answer.
func TestInstallFlushesFirst(t *testing.T) {
	var r recorder
	parent := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(parent, "unfinished", "a", "b"), 0o777))
	must.Do(t, filesystem{step: r.step}.install(filepath.Join(parent, "unfinished"), filepath.Join(parent, "data")))
	want := []string{"syncdir unfinished", "syncdir a", "syncdir b", "rename data", "syncdir " + filepath.Base(parent)}
	if !slices.Equal(r.steps, want) {
		t.Errorf("%q, want %q", r.steps, want)
	}
}

func TestAnEditOfTheRegistryIsFlushed(t *testing.T) {
	var r recorder
	l := opened(t, created(t), Options{Step: r.step})
	r.steps = nil
	_, err := addUser(t, l.Registry(), "ada")
	must.Do(t, err)
	want := []string{
		"create registry.json.next", "write registry.json.next", "sync registry.json.next", "rename registry.json", "syncdir data",
	}
	rest := r.steps
	for _, step := range want {
		at := slices.Index(rest, step)
		if at < 0 {
			t.Fatalf("no %s in its place in\n%s", step, strings.Join(r.steps, "\n"))
		}
		rest = rest[at+1:]
	}
}

// Whatever step of a write fails: the answer is the truth or an error, asking
// again tells how it ended, and nothing is left in git's way.
func TestEveryStepOfAWriteMayFail(t *testing.T) {
	cause := syscall.ENOSPC
	for fail, done := 1, false; !done; fail++ {
		r := &recorder{fail: -1, then: func() error { return cause }}
		l := opened(t, created(t), Options{Step: r.step})
		first := write(t, l, "a", "1")
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", "2")
		r.steps, r.fail = nil, fail
		after, err := l.Advance(background, from, c)
		done = len(r.steps) < fail
		failed := r.steps[min(fail, len(r.steps))-1]
		r.fail = -1
		checkEnd(t, l, failed, from, c, after, err)
		again, err := l.Advance(background, from, c)
		must.Do(t, err)
		if again.Commit != c.SHA || again.Sequence != first.Sequence+1 || head(t, l) != again {
			t.Errorf("%s failed: then the head is %+v", failed, again)
		}
		write(t, l, "a", "3")
		agree(t, l, 3)
		must.Do(t, l.Close())
		agree(t, opened(t, l.dir, Options{}), 3)
	}
}

func checkEnd(t *testing.T, l *Ledger, failed string, from repository.Head, c repository.Commit, after repository.Head, err error) {
	t.Helper()
	now := head(t, l)
	switch {
	case err == nil && (after != now || after.Commit != c.SHA):
		t.Errorf("%s failed: answered %+v, and the head is %+v", failed, after, now)
	case errors.Is(err, repository.ErrMoved):
		t.Errorf("%s failed: ErrMoved, which says more than is known", failed)
	case errors.Is(err, repository.ErrFailed) && now != from:
		t.Errorf("%s failed: answered that nothing was written, and the head is %+v", failed, now)
	case err != nil && now == from && !strings.HasPrefix(failed, "rename") && !(errors.Is(err, repository.ErrFailed) && strings.Contains(err.Error(), "the disk is full, and nothing was written")):
		t.Errorf("%s failed: %v, want that the disk is full and nothing was written", failed, err)
	case err != nil && now != from && now.Commit != c.SHA:
		t.Errorf("%s failed: %v, and the head is %+v", failed, err, now)
	case err != nil && strings.HasPrefix(failed, "syncdir") && now.Commit != c.SHA:
		t.Errorf("%s failed after the rename, and the head is %+v", failed, now)
	}
	if _, err := os.Stat(filepath.Join(l.Repository(), branchLock)); err == nil && failed != "remove main.lock" {
		t.Errorf("%s failed and git's lock stayed", failed)
	}
}

// Where the file system has no hard links, the lock is a copy.
func TestWithoutHardLinks(t *testing.T) {
	l := opened(t, created(t), Options{Step: func(op Operation, _ string) error {
		if op == OpLink {
			return errors.ErrUnsupported
		}
		return nil
	}})
	write(t, l, "a", "1")
	write(t, l, "a", "2")
	holdBranch(t, l)
	at := head(t, l)
	if _, err := l.Advance(background, at, draft(t, l.Repository(), at.Commit, "a", "3")); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("with git's lock: %v", err)
	}
}

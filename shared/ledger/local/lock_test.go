package local

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// slowDisk opens a ledger in a bubble, whose clock moves by each flush alone, and counts
// how often it waits for its turn to write.
func slowDisk(t *testing.T, flush time.Duration, beforeTurn func(turn int)) (l *Ledger, turns *atomic.Int64) {
	turns = &atomic.Int64{}
	l = started(t)
	l.options.Step = func(op Operation, path string) error {
		switch {
		case op == OpSync || op == OpSyncDir:
			time.Sleep(flush)
		case op == OpLock && filepath.Base(path) == writeTurn:
			beforeTurn(int(turns.Add(1)))
		}
		return nil
	}
	t.Cleanup(func() { l.options.Step = nil })
	return l, turns
}

// land makes a commit as a writer does, who decides again what came too late.
func land(t *testing.T, l *Ledger, n int) {
	t.Helper()
	for range 6 {
		at := head(t, l)
		_, err := l.Advance(background, at, draft(t, l.branch.git, at.Commit, "flag", fmt.Sprint(n)))
		if !errors.Is(err, repository.ErrMoved) {
			must.Do(t, err)
			return
		}
	}
	t.Fatalf("commit %d is decided again and again", n)
}

// Before each turn of a server another process edits its registry. Were a turn one commit,
// its writers would wait for as many edits.
func TestWritersInARowShareATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var other *Registry
		l, turns := slowDisk(t, 10*time.Millisecond, func(turn int) {
			must.Get(addUser(t, other, fmt.Sprint("user", turn)))(t)
		})
		other = registryOf(t, l.dir)
		const commits = 30 // of two flushes each, one after the other
		for n := range commits {
			land(t, l, n)
		}
		if got := turns.Load(); got < 2 || got > commits/5 {
			t.Errorf("%d commits took %d turns, want one for each 5 at most and more than one in all", commits, got)
		}
		if all := must.Get(other.Principals(background))(t); int64(len(all)) != turns.Load() {
			t.Errorf("%d edits landed in %d turns", len(all), turns.Load())
		}
	})
}

// Another process that waits is let in, however many writers there are.
func TestAServerThatWritesWithoutPauseLetsOthersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := slowDisk(t, 10*time.Millisecond, func(int) {})
		other := registryOf(t, l.dir)
		land(t, l, 0)
		for edit := range 2 {
			var edited atomic.Bool
			go func() {
				_, err := addUser(t, other, fmt.Sprint("user", edit))
				edited.Store(err == nil)
			}()
			commits := 0
			for ; !edited.Load(); commits++ {
				if commits == 50 {
					t.Fatal("an edit of another process waits for ever")
				}
				land(t, l, commits+1)
			}
			if commits < 5 {
				t.Errorf("edit %d came after %d commits: the server had no whole turn", edit, commits)
			}
		}
	})
}

// A server keeps the lock for a moment only, and never from its own edits.
func TestTheLockIsFreeWhenNobodyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, turns := slowDisk(t, 0, func(int) {})
		free := func() bool {
			f, err := filesystem{}.lockFile(filepath.Join(l.dir, writeLock))
			if errors.Is(err, filelock.ErrHeld) {
				return false
			}
			must.Do(t, err)
			must.Do(t, f.Close())
			return true
		}
		start := time.Now()
		land(t, l, 1)
		if free() {
			t.Error("the lock is not kept for the next writer")
		}
		must.Get(addUser(t, l.Registry(), "ada"))(t)
		land(t, l, 2)
		if time.Since(start) != 0 || turns.Load() != 1 {
			t.Errorf("writers of one process waited %s and took %d turns", time.Since(start), turns.Load())
		}
		time.Sleep(forNext)
		synctest.Wait()
		if !free() {
			t.Error("the lock is kept though nobody writes")
		}
		land(t, l, 3)
		must.Do(t, l.Close())
		if !free() {
			t.Error("the lock is kept by a ledger that is closed")
		}
	})
}

// What is kept for a writer that does not come again is let go.
func TestALockThatNobodyComesForIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := started(t)
		other := registryOf(t, l.dir)
		stale := head(t, l)
		for n := range 2 {
			must.Get(addUser(t, other, fmt.Sprint("user", n)))(t)
			if _, err := l.Advance(background, stale, draft(t, l.branch.git, stale.Commit, "flag", "1")); !errors.Is(err, repository.ErrMoved) {
				t.Fatal(err)
			}
		}
	})
}

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

const (
	first  = "feature-flags/first.json"
	second = "configs/second.json"
)

var background = context.Background()

// refused checks that an Advance is refused with ErrMoved and does nothing.
func (b *bench) refused(from repository.Head, c repository.Commit) {
	b.Helper()
	before := b.head()
	if head, err := b.Ledger.Advance(background, from, c); !errors.Is(err, repository.ErrMoved) {
		b.Errorf("advanced to %+v with the error %v, want ErrMoved", head, err)
	}
	if after := b.head(); after != before {
		b.Errorf("a refused write moved the head from %+v to %+v", before, after)
	}
	rows, err := b.Ledger.Since(background, before, 0)
	must.Do(b, err)
	for _, row := range rows {
		if row.SHA == c.SHA {
			b.Error("a refused commit is in the history")
		}
	}
}

func staleCommit(b *bench) {
	empty := b.head()
	root := b.commit("", map[string]string{first: "other"})
	b.advance(map[string]string{first: "1"})
	b.refused(empty, root)
	old := b.head()
	late := b.commit(old.Commit, map[string]string{first: "late"})
	b.advance(map[string]string{second: "2"})
	b.refused(old, late)
	unborn := b.head()
	unborn.Commit = late.SHA
	b.refused(unborn, b.commit(late.SHA, map[string]string{first: "later"}))
}

func staleAccess(b *bench) {
	b.advance(map[string]string{first: "1"})
	from := b.head()
	key := b.admit("Grace")
	if b.head().Access == from.Access {
		b.Error("a new key leaves the access version as it was")
	}
	b.refused(from, b.commit(from.Commit, map[string]string{first: "2"}))
	from = b.head()
	b.revoke(key)
	b.refused(from, b.commit(from.Commit, map[string]string{first: "3"}))
	b.advance(map[string]string{first: "4"})
}

// noneLost has writers who try again until they have had their turns.
func noneLost(b *bench) {
	const writers, each = 4, 5
	var (
		making sync.Mutex
		all    sync.WaitGroup
	)
	for writer := range writers {
		all.Go(func() {
			for n := 0; n < each; {
				entry, err := b.Authenticator.Authenticate(background, b.key, "")
				if err != nil {
					b.Error(err)
					return
				}
				making.Lock()
				c := b.commit(entry.Head.Commit, map[string]string{fmt.Sprintf("configs/%d.json", writer): fmt.Sprint(n + 1)})
				making.Unlock()
				switch _, err := b.Ledger.Advance(background, entry.Head, c); {
				case err == nil:
					n++
				case !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrBusy):
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	head := b.head()
	rows, err := b.Ledger.Since(background, head, 0)
	must.Do(b, err)
	if len(rows) != writers*each {
		b.Errorf("%d commits, want %d", len(rows), writers*each)
	}
	for writer := range writers {
		if text := b.files[head.Commit][fmt.Sprintf("configs/%d.json", writer)]; text != fmt.Sprint(each) {
			b.Errorf("writer %d ends with %q", writer, text)
		}
	}
	for i, row := range rows[1:] {
		if row.Parent != rows[i].SHA || row.Sequence != rows[i].Sequence+1 {
			b.Fatalf("commit %d does not follow the one before", i+1)
		}
	}
}

func again(b *bench) {
	from := b.head()
	c := b.commit("", map[string]string{first: "1"})
	head, err := b.Ledger.Advance(background, from, c)
	must.Do(b, err)
	if repeated, err := b.Ledger.Advance(background, from, c); err != nil || repeated != head {
		b.Errorf("the second time: %+v, %v, want %+v", repeated, err, head)
	}
	b.advance(map[string]string{first: "2"})
	b.admit("Grace")
	repeated, err := b.Ledger.Advance(background, from, c)
	if err != nil || repeated.Commit != head.Commit || repeated.Sequence != head.Sequence {
		b.Errorf("after another commit: %+v, %v, want %+v", repeated, err, head)
	}
	if rows, err := b.Ledger.Since(background, b.head(), 0); err != nil || len(rows) != 2 {
		b.Errorf("%d commits, %v, want 2", len(rows), err)
	}
}

func cancelled(b *bench) {
	b.advance(map[string]string{first: "1"})
	from := b.head()
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := b.Ledger.Advance(ended, from, b.commit(from.Commit, map[string]string{first: "2"})); !errors.Is(err, context.Canceled) {
		b.Errorf("the error %v, want that of the context", err)
	}
	if head := b.head(); head != from {
		b.Errorf("the head moved to %+v", head)
	}
	if _, err := b.Ledger.Since(ended, from, 0); !errors.Is(err, context.Canceled) {
		b.Errorf("reading: the error %v, want that of the context", err)
	}
}

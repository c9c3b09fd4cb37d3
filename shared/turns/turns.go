// Package turns lets few large things be in memory at a time. Decoded, JSON
// takes up to 150 times its bytes: a bound on each text says nothing about many
// at once.
//
// An owner waits for its own share first, and with that in the line of all: before the
// others it has no more in that than its share. So an owner that sends much at once waits
// for itself.
package turns

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/fault"
)

const (
	// Small is how many bytes wait for nobody: keys and addresses have limits of
	// their own.
	Small = 32 << 10
	// Decoded is how many bytes of large texts are decoded at a time: one of the
	// largest that there may be, or some that are smaller.
	Decoded = 1 << 20
	// Patience is how long a turn is waited for.
	Patience = 10 * time.Second
)

// Turns are taken to use memory. They may be used concurrently.
type Turns struct {
	most, share int64
	all         *semaphore.Weighted

	mu     sync.Mutex
	owners map[string]*owner // that hold or wait for something
}

// owner is the share of one of them.
type owner struct {
	share *semaphore.Weighted
	turns int // that are held or waited for
}

// Of makes turns of so many bytes at a time, in all and for one owner.
func Of(most, share int64) *Turns {
	return &Turns{most: most, share: share, all: semaphore.NewWeighted(most), owners: map[string]*owner{}}
}

// Take waits for the turn of so many bytes, if they are more than Small; of more
// than an owner may have, for that. The caller leaves when they are in memory no
// more; once or more often. The error is a fault: the request may be repeated.
func (t *Turns) Take(ctx context.Context, of string, size int64) (leave func(), err error) {
	if size <= Small {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	size = min(size, t.most, t.share)
	mine := t.enter(of)
	if err = mine.share.Acquire(ctx, size); err == nil {
		if err = t.all.Acquire(ctx, size); err != nil {
			mine.share.Release(size)
		}
	}
	if err != nil {
		t.exit(of)
		return nil, fault.New(fault.Unavailable, "too much that is large is read at once; the request can be repeated").Because(err)
	}
	return sync.OnceFunc(func() {
		t.all.Release(size) // to another that waits, before this owner asks again
		mine.share.Release(size)
		t.exit(of)
	}), nil
}

func (t *Turns) enter(of string) *owner {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners[of] == nil {
		t.owners[of] = &owner{share: semaphore.NewWeighted(t.share)}
	}
	t.owners[of].turns++
	return t.owners[of]
}

// exit forgets an owner that neither holds nor waits for anything.
func (t *Turns) exit(of string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owners[of].turns--; t.owners[of].turns == 0 {
		delete(t.owners, of)
	}
}

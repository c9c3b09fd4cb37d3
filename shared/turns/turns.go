// Package turns lets few large things be in memory at a time. Decoded, JSON
// takes up to 150 times its bytes: a bound on each text says nothing about many
// at once.
//
// Turns go around by owner: of the owners that wait, the next is the one that had none
// for the longest. So an owner that sends much at once waits for itself.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"

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

	mu     sync.Mutex
	free   int64
	asked  uint64            // how many turns were asked for
	served uint64            // and how many were given
	owners map[string]*owner // that hold or wait for something
}

// owner is what one of them holds and waits for.
type owner struct {
	held    int64
	last    uint64 // its last turn, among those that were given; 0 for none
	waiting []*turn
}

// turn is one that is waited for.
type turn struct {
	size  int64
	asked uint64        // its number among those that were asked for
	given chan struct{} // is closed when it is
}

// Of makes turns of so many bytes at a time, in all and for one owner.
func Of(most, share int64) *Turns {
	return &Turns{most: most, share: share, free: most, owners: map[string]*owner{}}
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
	mine := &turn{size: min(size, t.most, t.share), given: make(chan struct{})}
	t.mu.Lock()
	if t.owners[of] == nil {
		t.owners[of] = &owner{}
	}
	t.asked++
	mine.asked = t.asked
	t.owners[of].waiting = append(t.owners[of].waiting, mine)
	t.give()
	t.mu.Unlock()
	select {
	case <-mine.given:
	case <-ctx.Done():
		if t.giveUp(of, mine) {
			return nil, fault.New(fault.Unavailable, "too much that is large is read at once; the request can be repeated").Because(ctx.Err())
		}
	}
	return sync.OnceFunc(func() { t.putBack(of, mine.size) }), nil
}

// give gives the turns that there are bytes for.
func (t *Turns) give() {
	for {
		next := t.next()
		if next == nil || next.waiting[0].size > t.free {
			return
		}
		first := next.waiting[0]
		next.waiting = next.waiting[1:]
		t.free -= first.size
		t.served++
		next.held, next.last = next.held+first.size, t.served
		close(first.given)
	}
}

// next is the owner whose turn it is: of those that may have more, the one that
// had none for the longest, or has waited for the longest for its first.
func (t *Turns) next() (next *owner) {
	for _, o := range t.owners {
		if len(o.waiting) == 0 || o.held+o.waiting[0].size > t.share {
			continue
		}
		if next == nil || o.last < next.last || o.last == next.last && o.waiting[0].asked < next.waiting[0].asked {
			next = o
		}
	}
	return next
}

// giveUp takes a turn back that was not given, and reports whether that is so.
func (t *Turns) giveUp(of string, mine *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.owners[of]
	i := -1
	if o != nil {
		i = slices.Index(o.waiting, mine)
	}
	if i < 0 {
		return false
	}
	o.waiting = slices.Delete(o.waiting, i, i+1)
	t.forget(of)
	t.give() // it may have been in the way of one that fits
	return true
}

func (t *Turns) putBack(of string, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += size
	t.owners[of].held -= size
	t.give()
	t.forget(of)
}

// forget forgets an owner that neither holds nor waits for anything.
func (t *Turns) forget(of string) {
	if o := t.owners[of]; o.held == 0 && len(o.waiting) == 0 {
		delete(t.owners, of)
	}
}

// Package turns lets few large things be in memory at a time. Decoded, JSON
// takes up to 150 times its bytes: a bound on each text says nothing about many
// at once.
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

// Turns are taken by who needs memory. They may be used concurrently.
type Turns struct {
	most  int64
	bytes *semaphore.Weighted
}

// Of makes turns of so many bytes at a time, in all.
func Of(most int64) *Turns { return &Turns{most, semaphore.NewWeighted(most)} }

// Take waits for the turn of so many bytes, if they are more than Small; of more
// than there are, for all. The caller leaves when they are in memory no more;
// once or more often. The error is a fault: the request may be repeated.
func (t *Turns) Take(ctx context.Context, size int64) (leave func(), err error) {
	if size <= Small {
		return func() {}, nil
	}
	size = min(size, t.most)
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := t.bytes.Acquire(ctx, size); err != nil {
		return nil, fault.New(fault.Unavailable, "too much that is large is read at once; the request can be repeated").Because(err)
	}
	return sync.OnceFunc(func() { t.bytes.Release(size) }), nil
}

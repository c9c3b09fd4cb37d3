// Package bodies bounds the memory that the bodies of requests take.
//
// Decoded, JSON takes up to 150 times its bytes: an array of a million small
// numbers is a million values. A bound on each body says nothing about many at
// once, so the large ones take turns.
package bodies

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/fault"
)

const (
	// small bodies wait for nobody: keys and addresses have limits of their own.
	small = 32 << 10
	// budget is how many bytes of large bodies are decoded at a time: one of the
	// largest, or some that are smaller.
	budget = 1 << 20
	// patience is how long a body waits for its turn.
	patience = 10 * time.Second
)

// Budget is shared by the requests of a server. The zero Budget is of no use;
// see New.
type Budget struct{ bytes *semaphore.Weighted }

// New makes a Budget.
func New() *Budget { return &Budget{semaphore.NewWeighted(budget)} }

// Take waits until a body of so many bytes may be decoded. The caller leaves
// when nothing of it is in memory any more, once or more often. A body that has waited for long is
// refused, and may be sent again.
func (b *Budget) Take(ctx context.Context, size int) (leave func(), err error) {
	if size <= small {
		return func() {}, nil
	}
	weight := int64(min(size, budget))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.bytes.Acquire(ctx, weight); err != nil {
		return nil, fault.New(fault.Unavailable, "too many large bodies arrive at once; the request can be repeated").Because(err)
	}
	return sync.OnceFunc(func() { b.bytes.Release(weight) }), nil
}

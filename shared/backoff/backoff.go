// Package backoff says how long to wait before something is tried again.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is how waits grow: each is a random part of a bound that doubles from
// try to try, so that those who met once do not meet again.
type Backoff struct {
	First time.Duration // the bound of the first wait
	Max   time.Duration // of all that follow
}

// Bound is the longest that the wait after a try may be; tries count from 0.
func (b Backoff) Bound(try int) time.Duration {
	bound := b.First
	for range try {
		if bound >= b.Max {
			break
		}
		bound *= 2
	}
	return min(bound, b.Max)
}

// Delay is how long to wait after a try.
func (b Backoff) Delay(try int) time.Duration { return rand.N(b.Bound(try)) }

// Wait waits after a try, or fails with the context's error.
func (b Backoff) Wait(ctx context.Context, try int) error { return Sleep(ctx, b.Delay(try)) }

// Sleep waits for a time, or fails with the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Retry says when something that is done again and again is due, which waits the
// longer the more often it has failed. Its zero value, with a Backoff, is due.
type Retry struct {
	Backoff
	failures int
	next     time.Time
}

// Due reports whether it is time.
func (r *Retry) Due(now time.Time) bool { return !now.Before(r.next) }

// Ended notes how it went. After a failure it is due when the whole bound is over.
func (r *Retry) Ended(now time.Time, err error) {
	if err == nil {
		*r = Retry{Backoff: r.Backoff}
		return
	}
	r.next = now.Add(r.Bound(r.failures))
	r.failures++
}

package httpapi

import (
	"container/list"
	"context"
	"crypto/sha256"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
)

// Limit is how many requests a key may send. It is a token bucket per key, in
// this instance's memory. The zero Limit is the default.
type Limit struct {
	PerSecond float64 // 0 is 5
	Burst     int     // 0 is 25
	// Keys is how many buckets are kept; 0 is 10,000. Beyond it the key that
	// was away longest begins anew, with a full bucket.
	Keys int
}

const (
	defaultPerSecond = 5
	defaultBurst     = 25
	defaultKeys      = 10_000
)

// digest stands for a key's text, which is not kept.
type digest [sha256.Size]byte

// limiter holds a bucket for every key that has proved genuine. What is no
// genuine key has none: whoever makes keys up can not fill the memory.
type limiter struct {
	limit Limit
	now   func() time.Time

	mu      sync.Mutex
	buckets map[digest]*list.Element
	order   *list.List // of *bucket, most recently seen first
}

type bucket struct {
	key    digest
	tokens *rate.Limiter
}

func newLimiter(limit Limit, now func() time.Time) *limiter {
	if limit.PerSecond == 0 {
		limit.PerSecond = defaultPerSecond
	}
	if limit.Burst == 0 {
		limit.Burst = defaultBurst
	}
	if limit.Keys == 0 {
		limit.Keys = defaultKeys
	}
	return &limiter{limit: limit, now: now, buckets: map[digest]*list.Element{}, order: list.New()}
}

// known takes a token of a key that has a bucket, and says how long to wait
// when there is none in it.
func (l *limiter) known(key digest) (wait time.Duration, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(key)
}

func (l *limiter) find(key digest) (wait time.Duration, known bool) {
	e, known := l.buckets[key]
	if !known {
		return 0, false
	}
	l.order.MoveToFront(e)
	return l.take(e.Value.(*bucket)), true
}

// genuine takes a token of a key that was just found to be genuine. Another
// request with it may have found so meanwhile: a key has one bucket.
func (l *limiter) genuine(key digest) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait, known := l.find(key); known {
		return wait
	}
	b := &bucket{key, rate.NewLimiter(rate.Limit(l.limit.PerSecond), l.limit.Burst)}
	l.buckets[key] = l.order.PushFront(b)
	if l.order.Len() > l.limit.Keys {
		oldest := l.order.Back()
		delete(l.buckets, oldest.Value.(*bucket).key)
		l.order.Remove(oldest)
	}
	return l.take(b)
}

func (l *limiter) take(b *bucket) time.Duration {
	now := l.now()
	r := b.tokens.ReserveN(now, 1)
	if !r.OK() {
		return time.Second
	}
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now) // the client comes again; the token is not its own yet
	}
	return wait
}

// visit is one request on its way through the gate.
type visit struct {
	limiter *limiter
	key     digest
	counted bool
	wait    time.Duration // above 0: the request is over the limit
}

type visitKey struct{}

// Admitted counts a request whose key has proved genuine. It belongs into
// control.Settings, so that the limit bites before anything is said of the
// workspace. What did not come through this package (a delivery) passes.
func Admitted(ctx context.Context, _ access.KeyRecord) error {
	v, ours := ctx.Value(visitKey{}).(*visit)
	if !ours {
		return nil
	}
	return v.count()
}

// countKnown counts a request before its key is looked at, if this instance
// has seen the key before.
func (v *visit) countKnown() error {
	v.wait, v.counted = v.limiter.known(v.key)
	return v.refusal()
}

// count counts a request once.
func (v *visit) count() error {
	if !v.counted {
		v.counted = true
		v.wait = v.limiter.genuine(v.key)
	}
	return v.refusal()
}

// seconds is the wait in whole seconds, at least one.
func (v *visit) seconds() int {
	return max(1, int(math.Ceil(v.wait.Seconds())))
}

func (v *visit) refusal() error {
	if v.wait <= 0 {
		return nil
	}
	return fault.New(fault.RateLimited, "too many requests with this key; try again in %d s", v.seconds())
}

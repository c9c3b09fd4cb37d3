package ratelimit

import (
	"context"
	"net/netip"
	"time"

	"svc.example/svc/shared/fault"
)

// Limiter admits requests in front of authentication. A key that this process
// has seen to be good is counted before it is looked at again, so that requests
// over the limit cost nothing. Every other request is counted against its
// address first: whoever tries keys is stopped, and whoever shares an address
// with them goes on with a key that is known. Beyond the address's limit a key
// that may be genuine, by its check sum, still has a chance of its own, so that
// nobody whose key is good is kept out by neighbours who send bad ones. Only who
// makes up one key after the other uses that up too.
type Limiter struct {
	keys      *Buckets
	strangers *Buckets
	chances   *Buckets // of addresses that are over the limit
	again     *Buckets // of a key there, so that one alone does not use them up
}

var (
	chances = Rate{PerSecond: 1, Burst: 5}
	again   = Rate{PerSecond: 0.1, Burst: 1}
)

// New makes a Limiter. Strangers may be nil, and several limiters may share
// them.
func New(keys Rate, strangers *Buckets, now func() time.Time) *Limiter {
	l := &Limiter{keys: NewBuckets(keys, now), strangers: strangers}
	if strangers != nil {
		l.chances, l.again = NewBuckets(chances, now), NewBuckets(again, now)
	}
	return l
}

// Admit counts a request and has it authenticated, or returns a fault of the
// kind RateLimited. What authenticate returns is returned. A key is wellFormed if
// its text alone does not show that it is none.
func (l *Limiter) Admit(ctx context.Context, key ID, address netip.Addr, wellFormed bool, authenticate func(context.Context) error) error {
	if l == nil || l.keys == nil {
		return authenticate(ctx)
	}
	if wait, known := l.keys.TakeKnown(key); known {
		if wait > 0 {
			return tooMany(wait)
		}
		return authenticate(ctx)
	}
	over := l.strangers.Admit(address)
	if over != nil && (!wellFormed || l.again.Take(key) > 0 || l.chances.Take(KeyID("", address)) > 0) {
		return over
	}
	v := &visit{keys: l.keys, id: key}
	if err := authenticate(context.WithValue(ctx, visitKey{}, v)); err != nil {
		if over != nil && !v.counted && fault.Of(err).Kind == fault.Unauthorized {
			return over
		}
		return err
	}
	return v.count()
}

// Admit counts a request that has no key to be counted by.
func (b *Buckets) Admit(address netip.Addr) error {
	if wait := b.Take(KeyID("", address)); wait > 0 {
		f := fault.New(fault.RateLimited, "too many requests from this address that carry no key seen to be good here")
		return f.After(wait)
	}
	return nil
}

// visit is a request whose key is being authenticated for the first time.
type visit struct {
	keys    *Buckets
	id      ID
	counted bool
}

type visitKey struct{}

// Admitted counts the request of a context once its key has proved good. Where
// authentication goes on to say something of what the key opens, it calls this
// in between: the limit comes first. Admit calls it in the end.
func Admitted(ctx context.Context) error {
	v, ours := ctx.Value(visitKey{}).(*visit)
	if !ours {
		return nil
	}
	return v.count()
}

func (v *visit) count() error {
	if v.counted {
		return nil
	}
	v.counted = true
	if wait := v.keys.Take(v.id); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

func tooMany(wait time.Duration) error {
	return fault.New(fault.RateLimited, "too many requests with this key").After(wait)
}

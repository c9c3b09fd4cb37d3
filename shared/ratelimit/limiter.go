package ratelimit

import (
	"net/netip"
	"time"

	"svc.example/svc/shared/fault"
)

// Limiter admits requests in front of authentication. A key that this process
// has seen to be good is counted before it is looked at again, so that requests
// over the limit cost nothing. Every other request is counted against its
// address first: a client that tries keys is stopped, and one that shares an address
// with them goes on with a key that is known. Beyond the address's limit a key
// that may be genuine, by its check sum, still has a chance of its own, so that
// nobody whose key is good is kept out by neighbours who send bad ones. Only who
// makes up one key after the other uses that up too.
type Limiter struct {
	keys      *Buckets
	anonymous *Buckets
	chances   *Buckets // of addresses that are over the limit
	again     *Buckets // of a key there, so that one alone does not use them up
}

var (
	chances = Rate{PerSecond: 1, Burst: 5}
	again   = Rate{PerSecond: 0.1, Burst: 1}
)

// New makes a Limiter. Anonymous may be nil, and several limiters may share
// them.
func New(keys Rate, anonymous *Buckets, now func() time.Time) *Limiter {
	l := &Limiter{keys: NewBuckets(keys, now), anonymous: anonymous}
	if anonymous != nil {
		l.chances, l.again = NewBuckets(chances, now), NewBuckets(again, now)
	}
	return l
}

// Admit counts a request before its key is authenticated, or returns a fault of
// the kind RateLimited. A key is wellFormed if its text alone does not show that
// it is none.
func (l *Limiter) Admit(key ID, address netip.Addr, wellFormed bool) (Visit, error) {
	if l == nil || l.keys == nil {
		return Visit{}, nil
	}
	if wait, known := l.keys.TakeKnown(key); known {
		if wait > 0 {
			return Visit{}, tooMany(wait)
		}
		return Visit{}, nil
	}
	over := l.anonymous.Admit(address)
	if over != nil && (!wellFormed || l.again.Take(key) > 0 || l.chances.Take(KeyID("", address)) > 0) {
		return Visit{}, over
	}
	return Visit{l.keys, key, over}, nil
}

// Visit is a request that was admitted to authentication.
type Visit struct {
	keys *Buckets // nil for a key that has been counted
	key  ID
	over error // what is told to a key that is not good: the address is over its limit
}

// Authenticated takes what came of authentication, nil for a good key, and
// returns what to answer: a good key that was not known before is counted now,
// before anything else is said of what it opens.
func (v Visit) Authenticated(err error) error {
	switch {
	case err != nil && v.over != nil && fault.Of(err).Kind == fault.Unauthorized:
		return v.over
	case err != nil:
		return err
	}
	if wait := v.keys.Take(v.key); wait > 0 {
		return tooMany(wait)
	}
	return nil
}

// Admit counts a request that has no key to be counted by.
func (b *Buckets) Admit(address netip.Addr) error {
	if wait := b.Take(KeyID("", address)); wait > 0 {
		f := fault.New(fault.RateLimited, "too many requests from this address that carry no key seen to be good here")
		return f.After(wait)
	}
	return nil
}

func tooMany(wait time.Duration) error {
	return fault.New(fault.RateLimited, "too many requests with this key").After(wait)
}

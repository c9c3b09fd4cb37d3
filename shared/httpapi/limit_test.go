package httpapi

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
)

func TestBuckets(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{}, func() time.Time { return clock })
	key := digest{1}
	if _, known := l.known(key); known {
		t.Fatal("a key is known that nobody has seen")
	}
	for i := range defaultBurst {
		if wait := l.genuine(key); wait > 0 {
			t.Fatalf("request %d waits %s", i, wait)
		}
	}
	for range 3 { // a refused request costs nothing
		if wait, _ := l.known(key); wait <= 0 || wait > time.Second/defaultPerSecond {
			t.Fatalf("beyond the burst: %s", wait)
		}
	}
	if wait := l.genuine(digest{2}); wait > 0 {
		t.Errorf("another key waits %s", wait)
	}
	clock = clock.Add(time.Second)
	for i := range defaultPerSecond {
		if wait, _ := l.known(key); wait > 0 {
			t.Errorf("request %d a second later waits %s", i, wait)
		}
	}
	if wait, _ := l.known(key); wait <= 0 {
		t.Error("more than the rate in a second")
	}
}

// TestAKeyHasOneBucket: also when its first requests come at once.
func TestAKeyHasOneBucket(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{PerSecond: 1, Burst: 1}, func() time.Time { return clock })
	var at sync.WaitGroup
	passed := make([]atomic.Int64, 2000)
	for n := range passed {
		for range 2 {
			at.Go(func() {
				if l.genuine(digest{byte(n), byte(n >> 8)}) == 0 {
					passed[n].Add(1)
				}
			})
		}
	}
	at.Wait()
	for n := range passed {
		if got := passed[n].Load(); got != 1 {
			t.Errorf("key %d: %d requests passed of a burst of 1", n, got)
		}
	}
	if len(l.buckets) != len(passed) || l.order.Len() != len(passed) {
		t.Errorf("%d keys have %d buckets, %d in order", len(passed), len(l.buckets), l.order.Len())
	}
}

func TestTheOldestKeyIsForgotten(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{PerSecond: 1, Burst: 1, Keys: 2}, func() time.Time { return clock })
	for _, key := range []byte{1, 2, 1, 3, 4} {
		l.genuine(digest{key})
	}
	if len(l.buckets) != 2 || l.order.Len() != 2 {
		t.Errorf("%d buckets, %d in order", len(l.buckets), l.order.Len())
	}
	if _, known := l.known(digest{1}); known {
		t.Error("the oldest key is still there")
	}
	if wait, known := l.known(digest{4}); !known || wait <= 0 {
		t.Error("the newest key has a full bucket again")
	}
}

func TestAVisitCountsOnce(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{PerSecond: 0.4, Burst: 2}, func() time.Time { return clock })
	for i, want := range []bool{true, true, false} {
		v := &visit{limiter: l, key: digest{1}}
		ctx := context.WithValue(context.Background(), visitKey{}, v)
		err := v.countKnown()
		if err == nil {
			err = Admitted(ctx, access.KeyRecord{})
		}
		if err == nil {
			err = v.count()
		}
		if (err == nil) != want {
			t.Errorf("request %d: %v", i, err)
		}
		if err != nil && (fault.Of(err).Kind != fault.RateLimited || v.seconds() != 3) {
			t.Errorf("request %d: %v, %d s", i, err, v.seconds())
		}
	}
	if Admitted(context.Background(), access.KeyRecord{}) != nil {
		t.Error("a request that did not come this way is counted")
	}
}

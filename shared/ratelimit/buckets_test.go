package ratelimit

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func TestBuckets(t *testing.T) {
	const perSecond, burst = 5, 25
	c := newClock()
	b := NewBuckets(Rate{perSecond, burst}, c.now)
	if _, known := b.TakeKnown(1); known {
		t.Fatal("a bucket is there that nobody has made")
	}
	for i := range burst {
		if wait := b.Take(1); wait > 0 {
			t.Fatalf("request %d waits %s", i, wait)
		}
	}
	for range 3 { // a refused request costs nothing
		if wait, known := b.TakeKnown(1); !known || wait <= 0 || wait > time.Second/perSecond+1 {
			t.Fatalf("beyond the burst: %s %v", wait, known)
		}
	}
	if wait := b.Take(2); wait > 0 {
		t.Errorf("another key waits %s", wait)
	}
	c.pass(time.Second)
	for i := range perSecond {
		if wait := b.Take(1); wait > 0 {
			t.Errorf("request %d a second later waits %s", i, wait)
		}
	}
	if wait := b.Take(1); wait <= 0 {
		t.Error("more than the rate in a second")
	}
	c.pass(time.Hour)
	for i := range burst {
		if wait := b.Take(1); wait > 0 {
			t.Fatalf("request %d an hour later waits %s", i, wait)
		}
	}
	if wait := b.Take(1); wait <= 0 {
		t.Error("an hour fills a bucket above its burst")
	}
}

func TestNoRateIsNoLimit(t *testing.T) {
	b := NewBuckets(Rate{}, time.Now)
	for range 100_000 {
		if wait := b.Take(1); wait > 0 {
			t.Fatal(wait)
		}
	}
}

func TestAnIDHasOneBucket(t *testing.T) {
	b := NewBuckets(Rate{1, 1}, newClock().now)
	passed := make([]atomic.Int64, 2000)
	var group sync.WaitGroup
	for id := range passed {
		for range 2 {
			group.Go(func() {
				if b.Take(ID(id)) == 0 {
					passed[id].Add(1)
				}
			})
		}
	}
	group.Wait()
	for id := range passed {
		if n := passed[id].Load(); n != 1 {
			t.Errorf("%d requests passed of a burst of 1", n)
		}
	}
}

// TestAFloodOfIDsIsBounded, in memory and in what it gets.
func TestAFloodOfIDsIsBounded(t *testing.T) {
	c := newClock()
	b := NewBuckets(Rate{1, 10}, c.now)
	for range 10 {
		b.Take(1)
	}
	passed := 0
	for id := range ID(50 * maxBuckets) {
		if b.Take(2+id) == 0 {
			passed++
		}
	}
	if len(b.rows) != maxBuckets || len(b.at) != maxBuckets {
		t.Errorf("%d buckets, %d places", len(b.rows), len(b.at))
	}
	if most := 10 * maxBuckets; passed > most {
		t.Errorf("%d requests passed, more than %d buckets hold", passed, maxBuckets)
	}
	if b.Take(1) == 0 {
		t.Error("the flood gave an empty bucket its tokens back")
	}
}

// TestForgettingGivesNothingBack: whatever is asked in whatever order, of more
// IDs than there are buckets, none gets more than its rate.
func TestForgettingGivesNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClock()
		rate := Rate{float64(rapid.IntRange(1, 4).Draw(t, "rate")), rapid.IntRange(1, 4).Draw(t, "burst")}
		b := NewBuckets(rate, c.now)
		b.most = rapid.IntRange(1, 4).Draw(t, "buckets")
		begin := c.at
		passed := map[ID]int{}
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			c.pass(time.Duration(rapid.IntRange(0, 300).Draw(t, "pause")) * time.Millisecond)
			id := ID(rapid.IntRange(0, 6).Draw(t, "id"))
			if b.Take(id) == 0 {
				passed[id]++
			}
			if most := float64(rate.Burst) + rate.PerSecond*c.at.Sub(begin).Seconds() + 1e-6; float64(passed[id]) > most {
				t.Fatalf("%d passed, at most %f may", passed[id], most)
			}
			if len(b.rows) > b.most || len(b.at) != len(b.rows) {
				t.Fatalf("%d rows, %d places", len(b.rows), len(b.at))
			}
		}
	})
}

func TestTakingAllocatesNothing(t *testing.T) {
	b := NewBuckets(Rate{1e9, 1e9}, time.Now)
	address := netip.MustParseAddr("192.0.2.1")
	b.Take(KeyID("key", address))
	if n := testing.AllocsPerRun(100, func() { b.TakeKnown(KeyID("key", address)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTakeKnown(b *testing.B) {
	buckets := NewBuckets(Rate{1e9, 1e9}, time.Now)
	for id := range ID(maxBuckets) {
		buckets.Take(id)
	}
	for b.Loop() {
		buckets.TakeKnown(ID(b.N % maxBuckets))
	}
}

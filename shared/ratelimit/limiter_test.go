package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/testing/must"
)

var (
	here  = netip.MustParseAddr("192.0.2.1")
	there = netip.MustParseAddr("192.0.2.2")
)

// door is a limiter in front of an authentication that knows one key.
type door struct {
	limiter *Limiter
	asked   int
}

var errWrong = errors.New("wrong key")

func (d *door) enter(key string, from netip.Addr) error {
	visit, err := d.limiter.Admit(KeyID(key, netip.Addr{}), from, strings.HasPrefix(key, "good"))
	if err != nil {
		return err
	}
	d.asked++
	if key != "good" {
		return visit.Authenticated(errWrong)
	}
	return visit.Authenticated(nil)
}

func limited(err error) bool { return err != nil && fault.Of(err).Kind == fault.RateLimited }

func TestWrongKeysAreLimitedByAddress(t *testing.T) {
	c := newClock()
	d := &door{limiter: New(Rate{5, 25}, NewBuckets(Rate{1, 10}, c.now), c.now)}
	must.Do(t, d.enter("good", here))
	for i := range 9 { // the good key took one when it was new
		if err := d.enter("wrong", here); !errors.Is(err, errWrong) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	asked := d.asked
	if err := d.enter("wrong", here); !limited(err) || fault.Of(err).RetryAfter() != "1" || !strings.Contains(err.Error(), "this address") {
		t.Errorf("beyond the budget: %v", err)
	}
	if !limited(d.enter("another", here)) || d.asked != asked {
		t.Error("requests beyond the budget are looked at")
	}
	if err := d.enter("good", here); err != nil {
		t.Errorf("a key that is known pays for its neighbours: %v", err)
	}
	if err := d.enter("wrong", there); !errors.Is(err, errWrong) {
		t.Errorf("another address: %v", err)
	}
}

// TestAGoodKeyGetsPastItsNeighbours: an address that floods with wrong keys
// keeps nobody out whose key is good and was not seen before. What is looked at
// for that is bounded, and a wrong key that is sent again and again takes nothing
// of it.
func TestAGoodKeyGetsPastItsNeighbours(t *testing.T) {
	c := newClock()
	d := &door{limiter: New(Rate{5, 25}, NewBuckets(Rate{1, 10}, c.now), c.now)}
	flood := func(key func(i int) string) {
		for i := range 1000 {
			_ = d.enter(key(i), here)
		}
	}
	flood(func(i int) string { return fmt.Sprintf("wrong%d", i) })
	flood(func(int) string { return "good, once" })
	if err := d.enter("good", here); err != nil {
		t.Errorf("behind a flood of what cannot be a key and of one that was revoked: %v", err)
	}
	d.asked = 0
	flood(func(i int) string { return fmt.Sprintf("good%d", i) })
	if d.asked == 0 || d.asked > chances.Burst {
		t.Errorf("of 1,000 keys that may be good %d were looked at", d.asked)
	}
	c.pass(time.Minute)
	must.Report(t, d.enter("good", there))
}

func TestAKeyIsCountedOnce(t *testing.T) {
	c := newClock()
	d := &door{limiter: New(Rate{0.4, 2}, nil, c.now)}
	for i, want := range []bool{true, true, false} {
		if err := d.enter("good", here); (err == nil) != want || err != nil && fault.Of(err).RetryAfter() != "3" {
			t.Errorf("request %d: %v", i, err)
		}
	}
	if d.asked != 2 {
		t.Errorf("a request over the limit was authenticated")
	}
}

func TestNoLimiterAdmits(t *testing.T) {
	for _, l := range []*Limiter{nil, New(Rate{}, nil, nil)} {
		must.Report(t, (&door{limiter: l}).enter("good", here))
	}
}

func TestAddress(t *testing.T) {
	proxies := must.Get(ParseProxies([]string{"10.0.0.0/8", "127.0.0.1", "::1", "2001:db8:ffff::/48"}))(t)
	for _, tt := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "192.0.2.1:80", nil, "192.0.2.1"},
		{"not a proxy of ours", "192.0.2.1:80", []string{"198.51.100.1"}, "192.0.2.1"},
		{"a proxy", "10.1.1.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy that says nothing", "10.1.1.1:80", nil, "10.1.1.1"},
		{"what the client wrote itself", "10.1.1.1:80", []string{"1.2.3.4, 198.51.100.1"}, "198.51.100.1"},
		{"several lines", "10.1.1.1:80", []string{"1.2.3.4", "198.51.100.1 , 10.2.2.2"}, "198.51.100.1"},
		{"two proxies", "127.0.0.1:80", []string{"198.51.100.1,10.2.2.2"}, "198.51.100.1"},
		{"proxies only", "127.0.0.1:80", []string{"10.2.2.3,10.2.2.2"}, "10.2.2.3"},
		{"garbage", "127.0.0.1:80", []string{"unknown, 10.2.2.2"}, "10.2.2.2"},
		{"empty", "127.0.0.1:80", []string{""}, "127.0.0.1"},
		{"with a port", "127.0.0.1:80", []string{"198.51.100.1:1234"}, "198.51.100.1"},
		{"IPv6", "[2001:db8:1:2:3::4]:80", nil, "2001:db8:1:2::"},
		{"IPv6 of a link", "[fe80::1%eth0]:80", nil, "fe80::"},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:80", nil, "192.0.2.1"},
		{"IPv6 by a proxy", "[::1]:80", []string{"[2001:db8:1:2:3::4]:9"}, "2001:db8:1:2::"},
		{"more hops than are looked at", "127.0.0.1:80", []string{"198.51.100.1" + strings.Repeat(", 10.0.0.1", 100_000)}, "10.0.0.1"},
		{"no address", "@", nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: tt.peer, Header: http.Header{"X-Forwarded-For": tt.forwarded}}
		if got := proxies.Address(r).String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, bad := range []string{"", "proxy", "10.0.0.0/99", "fe80::1%eth0", "10.0.0.1:80"} {
		if _, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

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

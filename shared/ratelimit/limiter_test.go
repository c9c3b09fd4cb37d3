package ratelimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

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
	err := d.enter("wrong", here)
	if !limited(err) || fault.Of(err).RetryAfter() != "1" || !strings.Contains(err.Error(), "this address") {
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
		err := d.enter("good", here)
		if (err == nil) != want || err != nil && fault.Of(err).RetryAfter() != "3" {
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

package httpapi_test

import (
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/must"
)

// TestStrangersAreLimited: what an address may ask without a key that is known
// to be good is counted together. Beyond that a good key still gets in, and
// nothing else costs the storage anything.
func TestStrangersAreLimited(t *testing.T) {
	const budget = 12
	w := newWorldWith(t, shop(), httpapi.Options{Limit: unlimited})
	entered := 0
	w.alter = func(*control.Entry) error { entered++; return nil }
	anonymous := ratelimit.NewBuckets(ratelimit.Rate{PerSecond: 0.5, Burst: budget}, func() time.Time { return w.clock })
	options := httpapi.Options{Service: w.service, Limit: unlimited, Anonymous: anonymous, Now: func() time.Time { return w.clock }}
	var err error
	w.handler, err = httpapi.New(options, httpapi.All()...)
	must.Do(w.t, err)
	w.get("/whoami").ok() // a key that is good takes one token when it is new
	asks := []func() string{
		func() string { return w.get("/whoami", "-").refused() },
		func() string { return w.get("/whoami", "Authorization: Bearer nonsense").refused() },
		func() string { return w.get("/nowhere", "-").refused() },
		func() string { return w.do("TRACE", "/flags", "", "-").refused() },
		func() string { return w.get("/docs", "-").refused() },
		func() string { return w.get("/openapi.json", "-").refused() },
	}
	for i := range budget - 1 {
		if got := asks[i%len(asks)](); got == "429 RATE_LIMITED" {
			t.Fatalf("request %d of %d: %s", i, budget, got)
		}
	}
	entered = 0
	for i, ask := range asks {
		if got := ask(); got != "429 RATE_LIMITED" {
			t.Errorf("%d beyond the budget: %s", i, got)
		}
	}
	if a := w.get("/whoami", "Authorization: Bearer nonsense"); a.status != 429 || a.header.Get("Retry-After") != "2" || entered > 0 {
		t.Errorf("beyond the budget: %d, Retry-After %q, %d questions to the storage", a.status, a.header.Get("Retry-After"), entered)
	}
	fresh := w.newKey(access.KindUser)
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
	w.get("/whoami").ok()
	w.clock = w.clock.Add(2 * time.Second)
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
}

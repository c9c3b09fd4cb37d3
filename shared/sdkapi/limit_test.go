package sdkapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/must"
)

// limits serves with small rates and a clock that stands still.
func limits(t *testing.T) (w *world, now *time.Time) {
	at := time.Now()
	clock := func() time.Time { return at }
	proxies, err := ratelimit.ParseProxies([]string{"10.0.0.0/8"})
	must.Do(t, err)
	w = newWorldWith(t, map[string]string{"svc.json": `{"environments":["production"]}`}, sdkapi.Options{
		Polls: ratelimit.Rate{PerSecond: 0.5, Burst: 3}, Telemetry: ratelimit.Rate{PerSecond: 1, Burst: 2},
		Anonymous: ratelimit.NewBuckets(ratelimit.Rate{PerSecond: 1, Burst: 20}, clock), Proxies: proxies, Now: clock,
	})
	return w, &at
}

// limited checks that an answer is 429 and may be read by a page.
func limited(t *testing.T, what string, answer *httptest.ResponseRecorder, wait string) {
	t.Helper()
	h := answer.Header()
	if answer.Code != http.StatusTooManyRequests || h.Get("Retry-After") != wait || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d, Retry-After %q, %s", what, answer.Code, h.Get("Retry-After"), answer.Body)
	}
	if h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Retry-After") {
		t.Errorf("%s: a page cannot read it: %v", what, h)
	}
}

const (
	nativePoll = "/api/v2/configs/eval-with-context/e30"
	ofrepBulk  = "/ofrep/v1/evaluate/flags"
)

func TestAPublicKeyIsLimitedByAddress(t *testing.T) {
	w, now := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	for i := range 3 {
		if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
			t.Fatalf("poll %d: %d %s", i, answer.Code, answer.Body)
		}
	}
	gate, _ := w.cost(func() {
		answer := w.send("GET", nativePoll, public, "")
		limited(t, "a poll", answer, "2")
		if got := message(answer); got != "RATE_LIMITED: too many requests with this key; try again in 2 s" {
			t.Error(got)
		}
		for path, want := range map[string]string{
			ofrepBulk:         `{"errorCode":"GENERAL","errorDetails":"too many requests with this key; try again in 2 s"}`,
			ofrepBulk + "/f1": `{"key":"f1","errorCode":"GENERAL","errorDetails":"too many requests with this key; try again in 2 s"}`,
		} {
			answer := w.send("POST", path, public, "{}")
			limited(t, path, answer, "2")
			if got := answer.Body.String(); got != want {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
	if gate != 0 {
		t.Errorf("requests over the limit cost %d reads", gate)
	}
	if answer := w.send("OPTIONS", nativePoll, "", ""); answer.Code != 204 {
		t.Errorf("a preflight: %d", answer.Code)
	}
	if answer := w.send("GET", nativePoll, public, "", "from", "192.0.2.2:1"); answer.Code != 200 {
		t.Errorf("another address: %d", answer.Code)
	}
	if answer := w.send("GET", nativePoll, public, "", "X-Forwarded-For", "192.0.2.3"); answer.Code != 429 {
		t.Errorf("an address that the client itself names: %d", answer.Code)
	}
	for i := range 4 {
		answer := w.send("GET", nativePoll, public, "", "from", "10.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 192.0.2.4")
		if want := map[bool]int{true: 200, false: 429}[i < 3]; answer.Code != want {
			t.Errorf("poll %d through a proxy: %d", i, answer.Code)
		}
	}
	*now = now.Add(2 * time.Second)
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("two seconds later: %d", answer.Code)
	}
}

func TestASecretKeyIsLimitedWhereverItComesFrom(t *testing.T) {
	w, _ := limits(t)
	secret := w.key(access.KindSecretSDK, "production")
	for i := range 4 {
		answer := w.send("GET", "/api/v2/configs", secret, "", "from", fmt.Sprintf("192.0.2.%d:1", i))
		if want := map[bool]int{true: 200, false: 429}[i < 3]; answer.Code != want {
			t.Errorf("%d: %d %s", i, answer.Code, answer.Body)
		}
	}
}

func TestTelemetryHasALimitOfItsOwn(t *testing.T) {
	w, _ := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	post := func() *httptest.ResponseRecorder {
		return w.send("POST", "/api/v1/telemetry/", public, `{"events":[]}`)
	}
	for i := range 2 {
		if answer := post(); answer.Code != 202 {
			t.Fatalf("%d: %d %s", i, answer.Code, answer.Body)
		}
	}
	records := w.store.Records()
	limited(t, "telemetry", post(), "1")
	if w.store.Records() != records {
		t.Error("a batch over the limit reached the store")
	}
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("a poll beside it: %d", answer.Code)
	}
}

// TestWrongKeysCostLittle: each costs a read of the gate when it is well made,
// so an address can send few.
func TestWrongKeysCostLittle(t *testing.T) {
	w, _ := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	w.send("GET", nativePoll, public, "")
	unknown := newWorld(t, nil).key(access.KindPublicSDK, "production")
	gate, _ := w.cost(func() {
		for i := range 60 {
			path := []string{nativePoll, "/api/v1/telemetry/", "/api/v2/configs", "/nowhere"}[i%4]
			method := map[bool]string{true: "POST", false: "GET"}[i%4 == 1]
			answer := w.send(method, path, []string{unknown, "", "nonsense"}[i%3], "{}")
			if want := map[bool]int{true: 401, false: 429}[i < 19]; answer.Code != want {
				t.Errorf("request %d, %s: %d, want %d", i, path, answer.Code, want)
			}
		}
	})
	if gate > 19 {
		t.Errorf("60 wrong keys cost %d reads", gate)
	}
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("a key that is known to be good, from there: %d", answer.Code)
	}
}

package relay

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
)

func report(user string) string {
	return `{"instanceHash":"i","batchId":"` + user + `","events":[{"exampleContexts":{"examples":[{"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"` + user + `"}}}]}}]}}]}`
}

// TestTelemetryIsPassedOn in batches, judged here, and bounded while the service is away.
func TestTelemetryIsPassedOn(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/telemetry/"
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	opened := time.Now()
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	e := r.environments[0]
	for method, tt := range map[string]struct {
		key, body string
		status    int
	}{"POST": {public, `{"events":7}`, 400}, "GET": {public, "", 405}, "PUT": {"", "", 405}} {
		if got := w.ask(r.Server, method, path, tt.key, tt.body); got.status != tt.status {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := w.ask(r.Server, "POST", path, "", report("u")); got.status != 401 {
		t.Errorf("without a key: %s", got)
	}
	want := w.ask(w.front, "POST", path, public, report("u-0"))
	before := w.times(path)
	for i := range 250 {
		if got := w.ask(r.Server, "POST", path, public, report("u-"+string(rune('a'+i%26)))); got.status != 202 || got.body != want.body {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	e.flush()
	e.uploads.Send(t.Context())
	early := int64(time.Since(opened) / uploadEvery) // which are not full
	if n := w.times(path) - before; n < 3 || n > 3+early {
		t.Errorf("250 reports of an event each are passed on in %d batches, want 3 and up to %d", n, early)
	}
	r.end()
	for _, secret := range []bool{false, true, false} {
		e.pass([]byte(report("u")), secret)
	}
	e.pass([]byte(strings.Replace(report("u"), `"events"`, `"public":true,"events"`, 1)), true)
	var told []bool
	for _, event := range e.pending.take() {
		told = append(told, event.Public)
	}
	if !slices.Equal(told, []bool{false, true, true, true}) {
		t.Errorf("of public keys, as it is told: %v", told)
	}
	found := httptest.NewRecorder()
	q := httptest.NewRequest("GET", "/v1/contexts?environment=production&type=user&limit=100", nil)
	q.Header.Set("Authorization", "Bearer "+w.admin)
	w.service.Handler().ServeHTTP(found, q)
	if !strings.Contains(found.Body.String(), `"u-z"`) {
		t.Errorf("the service has %s", found.Body)
	}

	w.answers(gone)
	r = w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	e = r.environments[0]
	large := strings.Replace(report("u"), `"events"`, `"more":"`+strings.Repeat("x", 100)+`","events"`, 1)
	for range 100 * (maxBatches + 10) {
		e.pass([]byte(large), false)
	}
	if n := e.uploads.Waiting(); n != maxBatches {
		t.Errorf("%d batches wait", n)
	}
}

package relay

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/upstream"
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
	must.Do(w, r.Await(t.Context()))
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

// evaluated is a report of one evaluation, in as many events, with as many counters that
// tell nothing beside it.
func evaluated(name, key string, events, idle int) string {
	var all []string
	for range events {
		all = append(all, fmt.Sprintf(`{"summaries":{"summaries":[{"key":%q,"counters":[{"count":1}%s]}]}}`, key, strings.Repeat(`,{"count":0}`, idle)))
	}
	return `{` + name + `"events":[` + strings.Join(all, ",") + `]}`
}

// evaluations are how often the service has counted an item in production.
func (w *world) evaluations(key string) int {
	w.Helper()
	var found *httptest.ResponseRecorder
	w.eventually("the service lets us ask", func() bool {
		found = httptest.NewRecorder()
		q := httptest.NewRequest("GET", "/v1/flags/"+key+"/evaluations?environment=production", nil)
		q.Header.Set("Authorization", "Bearer "+w.admin)
		w.service.Handler().ServeHTTP(found, q)
		return found.Code == 200
	})
	var told struct {
		Environments map[string]struct{ Days []struct{ Total int } }
	}
	must.Do(w, json.Unmarshal(found.Body.Bytes(), &told))
	total := 0
	for _, day := range told.Environments["production"].Days {
		total += day.Total
	}
	return total
}

// TestAReportCountsOnce, whichever ways it comes.
func TestAReportCountsOnce(t *testing.T) {
	t.Parallel()
	const key = "dark"
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	second := w.relay(Options{Keys: []string{w.key(access.KindSecretSDK, "production")}})
	behind := w.relay(Options{Keys: []string{secret}, URL: r.URL, FrontendKey: "web"})
	for _, each := range []*relayed{r, second, behind} {
		must.Do(w, each.Await(t.Context()))
	}
	passed := func(by *relayed) {
		e := by.environments[0]
		e.flush()
		e.uploads.Send(t.Context())
	}
	send := func(to *httptest.Server, key, body string) {
		t.Helper()
		if got := w.ask(to, "POST", "/api/v1/telemetry/", key, body); got.status != 202 {
			t.Fatal(got)
		}
	}
	direct := func(body string) { send(w.front, public, body) }
	relayed := func(body string) { send(r.Server, public, body); passed(r) }
	elsewhere := func(body string) { send(second.Server, public, body); passed(second) }
	twice := func(body string) { send(behind.Server, "web", body); passed(behind); passed(r) }
	together := func(body string) { send(r.Server, public, body); relayed(body) }
	large := 2 * upstream.MaxBatch / 5 / len(`,{"count":0}`)
	for i, tt := range []struct {
		what         string
		events, idle int
		ways         []func(string)
	}{
		{"direct twice", 1, 0, []func(string){direct, direct}},
		{"together", 1, 0, []func(string){together}},
		{"by a relay, later again", 1, 0, []func(string){relayed, relayed}},
		{"direct, and by a relay", 1, 0, []func(string){direct, relayed}},
		{"by a relay, and direct", 1, 0, []func(string){relayed, direct}},
		{"by two relays", 1, 0, []func(string){relayed, elsewhere}},
		{"by a relay behind a relay, and direct", 1, 0, []func(string){twice, direct, twice}},
		{"in several events", 3, 0, []func(string){together, direct}},
		{"in more than goes into a batch", 5, large, []func(string){relayed, relayed, direct}},
	} {
		for named, name := range map[string]string{"named": fmt.Sprintf(`"instanceHash":"i","batchId":"%d",`, i), "without a name": fmt.Sprintf(`"x":%d,`, i)} {
			before := w.evaluations(key)
			body := evaluated(name, key, tt.events, tt.idle)
			for _, way := range tt.ways {
				way(body)
			}
			if n := w.evaluations(key) - before; n != tt.events {
				t.Errorf("%s, %s: counted %d times, want %d", tt.what, named, n, tt.events)
			}
		}
	}
	// Reports that only look alike are others.
	before := w.evaluations(key)
	for i := range 300 {
		send(r.Server, public, evaluated(fmt.Sprintf(`"instanceHash":"%d","batchId":"1",`, i), key, 1, 0))
	}
	asked := w.times("/api/v1/telemetry/")
	passed(r)
	if n, asks := w.evaluations(key)-before, w.times("/api/v1/telemetry/")-asked; n != 300 || asks > 3 {
		t.Errorf("300 reports are counted %d times, with %d requests", n, asks)
	}
}

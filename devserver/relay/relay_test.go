package relay

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

const always = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":`

// shop has every kind of document and value whose way to browsers is not the plain one.
var shop = documents.Files("testdata/shop.txtar")

const polls = "/api/v2/configs/eval-with-context/"

// someone has a key: chance would decide splits otherwise.
var someone = token(`{"user":{"key":"u-9"}}`)

func token(context string) string { return base64.RawURLEncoding.EncodeToString([]byte(context)) }

// TestAnswersAreThoseOfTheService, byte for byte, good ones and refusals.
func TestAnswersAreThoseOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret, w.key(access.KindSecretSDK, "development")}})
	must.Do(w, r.Await(t.Context()))
	type request struct{ method, path, key, body string }
	requests := []request{
		{"GET", "/api/v2/configs", secret, ""}, {"HEAD", "/api/v2/configs", secret, ""}, {"POST", "/api/v2/configs", secret, ""},
		{"GET", "/api/v2/configs", public, ""}, {"GET", "/api/v2/configs", "", ""},
		{"GET", polls + someone, secret, ""}, {"GET", polls + someone, "", ""}, {"GET", polls + someone, "nonsense", ""}, {"GET", polls + someone, w.admin, ""},
		{"GET", polls + "!", public, ""}, {"POST", polls + someone, public, ""}, {"OPTIONS", polls + someone, "", ""},
		{"POST", "/ofrep/v1/evaluate/flags", public, "[]"}, {"POST", "/ofrep/v1/evaluate/flags/dark", public, ""}, {"POST", "/ofrep/v1/evaluate/flags/master", public, ""}, {"POST", "/ofrep/v1/evaluate/flags/nowhere", public, ""},
		{"GET", "/healthz", "", ""}, {"GET", "/nowhere", public, ""},
	}
	for _, context := range []string{`{"user":{"key":"u-1"}}`, `{"user":{"key":"u-2","plan":"pro"}}`, `{"user":{"key":"u-3"}}`, `{"user":{"key":"u-5"}}`} {
		for _, key := range []string{public, other} {
			flat := strings.NewReplacer(`"user":{`, ``, `"key"`, `"targetingKey"`, `"plan"`, `"user.plan"`, `}}`, `}`).Replace(context)
			requests = append(requests, request{"GET", polls + token(context), key, ""}, request{"POST", "/ofrep/v1/evaluate/flags", key, `{"context":` + flat + `}`})
		}
	}
	for _, q := range requests {
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			want, got := w.ask(w.front, q.method, q.path, q.key, q.body, "Accept-Encoding", coding), w.ask(r.Server, q.method, q.path, q.key, q.body, "Accept-Encoding", coding)
			if q.method != "GET" || q.path != "/nowhere" { // svc api has more to point at
				if got.String() != want.String() {
					t.Errorf("%s %s, %s, %s:\n got %s\nwant %s", q.method, q.path, q.body, coding, got, want)
				}
			}
			if strings.Contains(got.body, "hunter2") {
				t.Errorf("%s %s: a confidential value: %s", q.method, q.path, got.body)
			}
			tag := want.header.Get("Etag")
			if tag == "" {
				continue
			}
			if again := w.ask(r.Server, q.method, q.path, q.key, q.body, "If-None-Match", tag); again.status != 304 || again.header.Get("Etag") != tag {
				t.Errorf("%s %s with the tag of the service: %d %s", q.method, q.path, again.status, again.header.Get("Etag"))
			}
		}
	}
	first := <-w.stream(w.front, "/api/v2/sse/config", secret)
	if got := <-w.stream(r.Server, "/api/v2/sse/config", secret); got != first {
		t.Errorf("a server is sent\n%s, by the service\n%s", got, first)
	}
}

// eventsOf is the address of the event stream that a bulk answer names.
func (w *world) eventsOf(server *httptest.Server, key string) string {
	w.Helper()
	var bulk struct {
		EventStreams []struct{ Endpoint struct{ RequestURI string } }
	}
	must.Do(w, json.Unmarshal([]byte(w.ask(server, "POST", "/ofrep/v1/evaluate/flags", key, "{}").body), &bulk))
	if len(bulk.EventStreams) != 1 {
		w.Fatal("no stream is named")
	}
	return bulk.EventStreams[0].Endpoint.RequestURI
}

// TestAChangeReachesEverybody, over a stream of the service and over polls.
func TestAChangeReachesEverybody(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		w := newWorld(t, shop)
		if !streams {
			w.withoutStreams()
		}
		public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
		r := w.relay(Options{Keys: []string{secret}})
		must.Do(w, r.Await(t.Context()))
		browser, server := w.stream(r.Server, w.eventsOf(r.Server, public), ""), w.stream(r.Server, "/api/v2/sse/config", secret)
		<-server // the state at first
		w.eventually("how changes come", func() bool { return r.environments[0].streaming.Load() == streams })

		w.patch("flags/timed/environments/production", `{"value":7}`)
		event := <-browser
		want := w.ask(w.front, "GET", polls+someone, public, "")
		if !strings.Contains(want.body, `"version":"`+strings.Fields(event)[0]+`"`) {
			t.Errorf("browsers hear of %s, and the service answers %s", event, want.body)
		}
		if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.String() != want.String() {
			t.Errorf("after the event:\n got %s\nwant %s", got, want)
		}
		if event := <-server; event != strings.Fields(event)[0]+" "+w.ask(w.front, "GET", "/api/v2/configs", secret, "").body {
			t.Errorf("servers are sent %s", event)
		}
		// What does not reach production is no event there.
		w.patch("flags/timed/environments/development", `{"value":8}`)
		w.patch("flags/timed/environments/production", `{"value":9}`)
		<-browser
		if got := w.ask(r.Server, "GET", polls+someone, public, ""); !strings.Contains(got.body, `"value":9`) {
			t.Errorf("an event of something else: %s", got)
		}
	}
}

// TestAClientThatSleepsThroughChanges is told once, of the last.
func TestAClientThatSleepsThroughChanges(t *testing.T) {
	t.Parallel()
	w, r, public, _ := relayOfShop(t)
	address := w.eventsOf(r.Server, public)
	before := r.environments[0].state.Load().table.Version
	for i := range 10 {
		w.patch("flags/timed/environments/production", `{"value":`+string(rune('0'+i))+`}`)
	}
	want := w.ask(w.front, "GET", polls+someone, public, "")
	w.eventually("the last state", func() bool { return w.ask(r.Server, "GET", polls+someone, public, "").String() == want.String() })
	event := <-w.stream(r.Server, address, "", "Last-Event-ID", before)
	if id := strings.Fields(event)[0]; !strings.Contains(want.body, id) {
		t.Errorf("it hears of %s", event)
	}
}

// TestAPageThatHeardFromAnotherRelay gets what that one has told of, though this one has
// not asked for it yet: there may be no other event for long.
func TestAPageThatHeardFromAnotherRelay(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	w := newWorld(t, shop)
	w.withoutStreams()
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	relays := []*relayed{w.relay(Options{Keys: []string{secret}}), w.relay(Options{Keys: []string{secret}})}
	var events []<-chan string
	for _, r := range relays {
		must.Do(w, r.Await(t.Context()))
		events = append(events, w.stream(r.Server, w.eventsOf(r.Server, public), ""))
	}
	for i := range 4 {
		w.patch("flags/timed/environments/production", fmt.Sprintf(`{"value":%d}`, 100+i))
		first, event := 0, ""
		select {
		case event = <-events[0]:
		case event = <-events[1]:
			first = 1
		}
		version := strings.Fields(event)[0]
		path := "/ofrep/v1/evaluate/flags?flagConfigEtag=" + url.QueryEscape(`"`+version+`"`) + "&flagConfigLastModified=1"
		for { // on a busy machine the service may need longer than a client is kept waiting
			begin := time.Now()
			got := w.ask(relays[1-first].Server, "POST", path, public, "{}")
			if strings.Contains(got.body, fmt.Sprintf(`"value":%d`, 100+i)) {
				break
			}
			if time.Since(begin) < behindTime {
				t.Errorf("write %d: the other relay answers %.300s", i, got.body)
				break
			}
		}
		<-events[1-first]
	}
	// What nobody has told costs the service little.
	before, begin := w.times("/api/v2/configs"), time.Now()
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			if got := w.ask(relays[0].Server, "POST", fmt.Sprintf("/ofrep/v1/evaluate/flags?flagConfigEtag=%d", i), public, "{}"); got.status != 200 {
				t.Errorf("%s", got)
			}
		})
	}
	all.Wait()
	if asked := w.times("/api/v2/configs") - before; asked > 20+int64(time.Since(begin)/lookPause) {
		t.Errorf("60 pages with made-up versions had the service asked %d times", asked)
	}
}

// TestOtherAnswersHaveOtherVersions: a document that the service keeps to itself is
// missing here, so no client may take these answers for the service's own. All relays
// name them alike, and a change still reaches clients.
func TestOtherAnswersHaveOtherVersions(t *testing.T) {
	t.Parallel()
	files := maps.Clone(shop)
	files["feature-flags/hidden.json"] = `{"key":"hidden","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["hunter2"],"confidential":true}}],"value":{"type":"bool","value":true}},` + always + `{"type":"bool","value":false}}]}}`
	w := newWorld(t, files)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindSecretSDK, "production")
	one, two := w.relay(Options{Keys: []string{secret}}), w.relay(Options{Keys: []string{other}})
	must.Do(w, one.Await(t.Context()))
	must.Do(w, two.Await(t.Context()))
	for _, q := range []struct{ method, path, body string }{
		{"GET", polls + someone, ""}, {"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u-9"}}`},
	} {
		service, first, second := w.ask(w.front, q.method, q.path, public, q.body), w.ask(one.Server, q.method, q.path, public, q.body), w.ask(two.Server, q.method, q.path, public, q.body)
		if !strings.Contains(service.body, `"hidden"`) || strings.Contains(first.body, `"hidden"`) {
			t.Fatalf("the service answers %s, a relay %s", service, first)
		}
		if first.String() != second.String() {
			t.Errorf("two relays answer %s and %s", first, second)
		}
		if again := w.ask(one.Server, q.method, q.path, public, q.body, "If-None-Match", service.header.Get("Etag")); again.status != 200 {
			t.Errorf("the tag of the service: %d", again.status)
		}
	}
	events := w.stream(one.Server, w.eventsOf(one.Server, public), "")
	w.patch("flags/timed/environments/production", `{"value":7}`)
	version := strings.Fields(<-events)[0]
	if got := w.ask(one.Server, "GET", polls+someone, public, ""); !strings.Contains(got.body, `"value":7`) || !strings.Contains(got.body, version) {
		t.Errorf("after the event %s: %s", version, got)
	}
}

// The console of a relay is its service's: nobody shows a key to the relay, and the
// relay lends nobody its own.
func TestTheConsoleIsThatOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := w.key(access.KindSecretSDK, "production")
	leads := w.relay(Options{URL: w.front.URL + "/v1", Keys: []string{secret}, LeadToConsole: true})
	for _, path := range []string{"/", "/console", "/console/", "/console/0000000000000000/console.js"} {
		a := w.ask(leads.Server, "GET", path, "", "", "Host", "elsewhere.example")
		if a.status != 302 || a.header.Get("Location") != w.front.URL+"/console/" || len(a.header["Access-Control-Allow-Origin"]) > 0 {
			t.Errorf("%s: %s to %s", path, a, a.header["Location"])
		}
		if a := w.ask(leads.Server, "POST", path, "", "{}"); a.status != 405 {
			t.Errorf("POST %s: %s", path, a)
		}
	}
	if a := w.ask(w.relay(Options{Keys: []string{secret}}).Server, "GET", "/console/", "", ""); a.status != 401 {
		t.Errorf("nobody has asked for a console: %s", a)
	}
}

// TestAPrerequisiteReachesWhoAsks: what another flag serves is a change of the environment in
// which it does, for browsers and servers behind a relay as at the service.
func TestAPrerequisiteReachesWhoAsks(t *testing.T) {
	t.Parallel()
	off := always + `{"type":"bool","value":false}}`
	w := newWorld(t, map[string]string{
		"svc.json":                `{"environments":["development","production"],"prerequisites":true}`,
		"feature-flags/base.json": `{"key":"base","type":"feature_flag","valueType":"bool","default":{"rules":[` + off + `]}}`,
		"feature-flags/asks.json": `{"key":"asks","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"FLAG_IS_ONE_OF","propertyName":"base","valueToMatch":{"type":"string_list","value":["true"]}}],"value":{"type":"bool","value":true}},` + off + `]}}`,
	})
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	must.Do(w, r.Await(t.Context()))
	browser, server := w.stream(r.Server, w.eventsOf(r.Server, public), ""), w.stream(r.Server, "/api/v2/sse/config", secret)
	<-server // the state at first
	w.eventually("how changes come", func() bool { return r.environments[0].streaming.Load() })
	before := w.ask(r.Server, "GET", polls+someone, public, "")
	w.patch("flags/base/environments/development", `{"enabled":true}`) // no event of production
	w.patch("flags/base/environments/production", `{"enabled":true}`)
	event := <-browser
	want := w.ask(w.front, "GET", polls+someone, public, "")
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.String() != want.String() || got.header.Get("Etag") == before.header.Get("Etag") ||
		!strings.Contains(got.body, `"version":"`+strings.Fields(event)[0]+`"`) {
		t.Errorf("after the event %s:\n got %s\nwant %s", event, got, want)
	}
	const asks = `"asks":{"value":{"type":"bool","value":`
	if !strings.Contains(before.body, asks+"false") || !strings.Contains(want.body, asks+"true") {
		t.Errorf("who asks serves %s, then %s", before.body, want.body)
	}
	if event := <-server; event != strings.Fields(event)[0]+" "+w.ask(w.front, "GET", "/api/v2/configs", secret, "").body {
		t.Errorf("servers are sent %s", event)
	}
	// The relay goes on with it when the service is away.
	w.answers(gone)
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.body != want.body {
		t.Errorf("alone it serves %s", got)
	}
}

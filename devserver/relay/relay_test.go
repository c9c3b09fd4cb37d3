package relay

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
)

const always = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":`

// shop has every kind of document and value whose way to browsers is not the plain one.
var shop = map[string]string{
	"svc.json": `{"environments":["development","production"]}`,
	"feature-flags/dark.json": `{"key":"dark","id":"17","type":"feature_flag","valueType":"bool","default":{"rules":[` + always + `{"type":"bool","value":false}}]},
		"environments":[{"id":"production","rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"beta"}}],"value":{"type":"bool","value":true}}]}],
		"variants":[{"name":"on","description":"it is dark","value":{"type":"bool","value":true}}]}`,
	"feature-flags/split.json": `{"key":"split","type":"feature_flag","valueType":"string","default":{"rules":[` + always + `{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[
		{"weight":1,"value":{"type":"string","value":"a"}},{"weight":1,"value":{"type":"string","value":"hunter2","confidential":true}},{"weight":1,"value":{"type":"string","value":"c\u00e9 \"</script>"}}]}}}]}}`,
	"feature-flags/timed.json":       `{"key":"timed","type":"feature_flag","valueType":"int","default":{"rules":[{"criteria":[{"operator":"PROP_BEFORE","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"int","value":1}},` + always + `{"type":"int","value":2}}]}}`,
	"configs/secret.json":            `{"key":"secret","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}],"value":{"type":"string","value":"open"}},` + always + `{"type":"string","value":"hunter2","confidential":true}}]},"variants":[{"name":"hunter2 it is","value":{"type":"string","value":"hunter2"}}]}`,
	"configs/elsewhere.json":         `{"key":"elsewhere","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[` + always + `{"type":"string","value":"open"}}]},"environments":[{"id":"development","rules":[` + always + `{"type":"string","value":"hunter2","confidential":true}}]}],"variants":[{"name":"named","value":{"type":"string","value":"open"}}]}`,
	"configs/sealed.json":            `{"key":"sealed","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[` + always + `{"type":"string","value":"Y2lwaGVy","confidential":true,"decryptWith":"master"}}]}}`,
	"configs/master.json":            `{"key":"master","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[` + always + `{"type":"provided","confidential":true,"value":{"source":"ENV_VAR","lookup":"MASTER"}}}]}}`,
	"configs/json.json":              `{"key":"json","type":"config","valueType":"json","sendToClientSdk":true,"default":{"rules":[` + always + `{"type":"json","value":{"b":1.0,"a":[1e3,"\u2028"],"confidential":true}}}]}}`,
	"configs/server.json":            `{"key":"server","type":"config","valueType":"string","default":{"rules":[` + always + `{"type":"string","value":"for servers"}}]}}`,
	"log-levels/log-level.shop.json": `{"key":"log-level.shop","type":"log_level","valueType":"log_level","default":{"rules":[` + always + `{"type":"log_level","value":"WARN"}}]}}`,
	"segments/beta.json":             `{"key":"beta","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["u-1"]}}],"value":{"type":"bool","value":true}}]}}`,
}

const polls = "/api/v2/configs/eval-with-context/"

// someone has a key: chance would decide splits otherwise.
var someone = token(`{"user":{"key":"u-9"}}`)

func token(context string) string { return base64.RawURLEncoding.EncodeToString([]byte(context)) }

// TestAnswersAreThoseOfTheService, byte for byte, good ones and refusals.
func TestAnswersAreThoseOfTheService(t *testing.T) {
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret, w.key(access.KindSecretSDK, "development")}})
	w.must(r.Await(t.Context()))
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
	w.must(json.Unmarshal([]byte(w.ask(server, "POST", "/ofrep/v1/evaluate/flags", key, "{}").body), &bulk))
	if len(bulk.EventStreams) != 1 {
		w.Fatal("no stream is named")
	}
	return bulk.EventStreams[0].Endpoint.RequestURI
}

// TestAChangeReachesEverybody, over a stream of the service and over polls.
func TestAChangeReachesEverybody(t *testing.T) {
	for _, streams := range []bool{true, false} {
		w := newWorld(t, shop)
		if !streams {
			w.withoutStreams()
		}
		public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
		r := w.relay(Options{Keys: []string{secret}})
		w.must(r.Await(t.Context()))
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
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
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

// TestHostileServices: what cannot be served never takes the place of what is, and the
// key goes nowhere else.
func TestHostileServices(t *testing.T) {
	var strayed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	foreign := newWorld(t, shop)
	foreignBody := foreign.ask(foreign.front, "GET", "/api/v2/configs", foreign.key(access.KindSecretSDK, "production"), "").body
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	development := w.ask(w.front, "GET", "/api/v2/configs", w.key(access.KindSecretSDK, "development"), "").body
	own := w.ask(w.front, "GET", "/api/v2/configs", secret, "").body
	says := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			if status == 200 {
				body = "data: " + body + "\n\n"
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(body))
		}
	}
	for name, instead := range map[string]http.HandlerFunc{
		"401": says(401, `{"error":"UNAUTHORIZED","message":"no"}`),
		"401 that tells a key": func(rw http.ResponseWriter, r *http.Request) {
			_, key, _ := r.BasicAuth()
			says(401, `{"message":"not `+key+`"}`)(rw, r)
		},
		"500":         says(500, "<html>"),
		"a page":      func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("<!doctype html>")) },
		"half a body": func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(own[:len(own)/2])) },
		"a body that ends": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100000")
			_, _ = rw.Write([]byte(own[:100]))
		},
		"another workspace":     func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(foreignBody)) },
		"another environment":   func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(development)) },
		"events of another one": says(200, foreignBody),
		"half an event":         says(200, own[:len(own)/2]),
		"a redirect": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"nothing": gone,
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			w.answers(nil)
			r := w.relay(Options{Keys: []string{secret}})
			w.must(r.Await(t.Context()))
			want := w.ask(r.Server, "GET", polls+someone, public, "")
			before := w.times("/api/v2/configs")
			w.answers(instead)
			w.eventually("it is asked", func() bool { return w.times("/api/v2/configs") > before })
			w.eventually("it is said", func() bool { return strings.Contains(w.log.String(), "last good one goes on being served") })
			if got := w.ask(r.Server, "GET", polls+someone, public, ""); want.status != 200 || got.String() != want.String() {
				t.Errorf("served is %s, was %s", got, want)
			}
			if ready := w.ask(r.Server, "GET", "/readyz", "", ""); ready.status != 200 {
				t.Errorf("not ready: %s", ready)
			}
			empty := w.relay(Options{Keys: []string{secret}})
			for _, path := range []string{"/readyz", polls + someone} {
				if got := w.ask(empty.Server, "GET", path, public, ""); got.status != 503 && (path == "/readyz" || got.status != 401) {
					t.Errorf("%s of a relay that knows nothing: %s", path, got)
				}
			}
			w.answers(nil)
			w.eventually("recovery", func() bool { return w.ask(empty.Server, "GET", "/readyz", "", "").status == 200 })
			if log := w.log.String(); strings.Contains(log, secret) || strings.Contains(log, public) {
				t.Errorf("a key is in the log: %s", log)
			}
		})
	}
	if strayed.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestARelayStartsFromItsCache while the service is away: keys that were good are, and
// others are 503, until it is back.
func TestARelayStartsFromItsCache(t *testing.T) {
	w := newWorld(t, shop)
	public, secret, revoked, unseen := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production")
	options := Options{Keys: []string{secret}, Cache: filepath.Join(t.TempDir(), "cache")}
	r := w.relay(options)
	w.must(r.Await(t.Context()))
	want := w.ask(r.Server, "GET", polls+someone, public, "")
	w.ask(r.Server, "GET", polls+someone, revoked, "")
	address := w.eventsOf(r.Server, public)
	r.end()
	files, err := os.ReadDir(options.Cache)
	w.must(err)
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(options.Cache, file.Name()))
		w.must(err)
		info, err := file.Info()
		w.must(err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", file.Name(), info.Mode())
		}
		for _, key := range []string{public, secret} {
			if strings.Contains(string(text), key[len(key)-40:]) {
				t.Errorf("%s holds a key", file.Name())
			}
		}
	}
	w.answers(gone)
	r = w.relay(options)
	w.must(r.Await(t.Context()))
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); want.status != 200 || got.String() != want.String() {
		t.Errorf("from the cache: %s, want %s", got, want)
	}
	if got := w.ask(r.Server, "GET", polls+someone, unseen, ""); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("a key that was never seen: %s", got)
	}
	w.stream(r.Server, address, "")
	if log := w.log.String(); !strings.Contains(log, "serving the state that was kept") || !strings.Contains(log, "age=") {
		t.Errorf("it does not say so:\n%s", log)
	}
	if ready := w.ask(r.Server, "GET", "/readyz", "", ""); ready.status != 200 {
		t.Errorf("not ready: %s", ready)
	}
	parsed, err := access.ParseKey(revoked)
	w.must(err)
	w.revoke(parsed.ID())
	w.patch("flags/timed/environments/production", `{"value":7}`)
	w.answers(nil)
	w.eventually("the new state", func() bool {
		return strings.Contains(w.ask(r.Server, "GET", polls+someone, public, "").body, `"value":7`)
	})
	w.eventually("the unseen key", func() bool { return w.ask(r.Server, "GET", polls+someone, unseen, "").status == 200 })
	if got := w.ask(r.Server, "GET", polls+someone, revoked, ""); got.status != 401 {
		t.Errorf("a key that was revoked meanwhile: %s", got)
	}
}

// TestABrokenCacheIsNoReasonNotToStart.
func TestABrokenCacheIsNoReasonNotToStart(t *testing.T) {
	w := newWorld(t, shop)
	secret := w.key(access.KindSecretSDK, "production")
	key, err := access.ParseKey(secret)
	w.must(err)
	options := Options{Keys: []string{secret}, Cache: t.TempDir()}
	for _, name := range []string{"keys.json", "state-" + string(key.ID()) + ".json.gz"} {
		w.must(os.WriteFile(filepath.Join(options.Cache, name), []byte("{"), 0o600))
	}
	r := w.relay(options)
	w.must(r.Await(t.Context()))
	if log := w.log.String(); strings.Count(log, "cannot be read; going on without") != 2 {
		t.Errorf("it does not say so:\n%s", log)
	}
}

// TestKeysAreAskedAboutOnce and remembered, refusals for less long; many who ask at once
// are one question.
func TestKeysAreAskedAboutOnce(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	elsewhere, gone := w.key(access.KindPublicSDK, "development"), w.key(access.KindPublicSDK, "production")
	parsed, err := access.ParseKey(gone)
	w.must(err)
	w.revoke(parsed.ID())
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	var offset atomic.Int64
	r.keys.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	ask := func(key string, status int, asked int64) {
		t.Helper()
		before := w.times("/api/v2/key")
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got := w.ask(r.Server, "GET", polls+someone, key, ""); got.status != status {
					t.Errorf("%d, want %d: %s", got.status, status, got.body)
				}
			})
		}
		all.Wait()
		if n := w.times("/api/v2/key") - before; n != asked {
			t.Errorf("the service was asked %d times, want %d", n, asked)
		}
	}
	ask(public, 200, 1)
	ask(public, 200, 0)
	ask(gone, 401, 1)
	ask(gone, 401, 0)
	ask(elsewhere, 401, 1)
	ask("svc_pk_nonsense", 401, 0)
	ask(newWorld(t, shop).key(access.KindPublicSDK, "production"), 401, 0)
	offset.Add(int64(11 * time.Second))
	ask(public, 200, 0)
	ask(gone, 401, 1)
	offset.Add(int64(60 * time.Second))
	ask(public, 200, 1)
	parsed, err = access.ParseKey(public)
	w.must(err)
	w.revoke(parsed.ID())
	ask(public, 200, 0)
	offset.Add(int64(61 * time.Second))
	ask(public, 401, 1)
	if got := w.ask(r.Server, "GET", "/api/v2/configs", secret, ""); got.status != 200 || w.times("/api/v2/key") != 6 {
		t.Errorf("the relay's own key: %s", got)
	}
}

// TestStrangersCostTheServiceLittle: an address that makes up keys is stopped, and keys
// that are known are not.
func TestStrangersCostTheServiceLittle(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	w.ask(r.Server, "GET", polls+someone, public, "")
	parsed, err := access.ParseKey(public)
	w.must(err)
	limited := 0
	for range 3 * strangers.Burst {
		made, err := access.NewKey(randomly{}, access.KindPublicSDK, parsed.Workspace(), parsed.Principal())
		w.must(err)
		switch got := w.ask(r.Server, "GET", polls+someone, made.Reveal(), ""); got.status {
		case 401, 503:
		case 429:
			limited++
		default:
			t.Fatalf("%s", got)
		}
	}
	if limited < strangers.Burst {
		t.Errorf("only %d of %d requests are refused without asking", limited, 3*strangers.Burst)
	}
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.status != 200 {
		t.Errorf("a good key: %s", got)
	}
}

// TestTokensOfStreams: of keys that were shown here, of others, and of nobody.
func TestTokensOfStreams(t *testing.T) {
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	address := w.eventsOf(w.front, public) // of a service whose streams the relay has
	w.stream(r.Server, address, "")
	if w.times("/api/v2/key") != 1 {
		t.Error("the service is not asked what the token stands for")
	}
	forged := address[:len(address)-4] + "AAAA"
	for name, path := range map[string]string{"a made-up one": forged, "none": "/ofrep/v1/events", "one of an environment that is not served": w.eventsOf(w.front, other), "a long one": "/ofrep/v1/events?token=" + strings.Repeat("x", 100_000)} {
		if got := w.ask(r.Server, "GET", path, "", ""); got.status != 401 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if log := w.log.String(); strings.Contains(log, "token=") || strings.Contains(log, url.QueryEscape(address[len(address)-20:])) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// TestOneKeyForAllBrowsers is asked of nobody.
func TestOneKeyForAllBrowsers(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	w.must(r.Await(t.Context()))
	for key, status := range map[string]int{"web": 200, "": 401, public: 401, "Web": 401} {
		if got := w.ask(r.Server, "GET", polls+someone, key, ""); got.status != status {
			t.Errorf("%q: %s", key, got)
		}
	}
	w.stream(r.Server, w.eventsOf(r.Server, "web"), "")
	if got := w.ask(r.Server, "GET", "/ofrep/v1/events?token=frontend.x", "", ""); got.status != 401 {
		t.Errorf("a made-up token: %s", got)
	}
	if got := w.ask(r.Server, "GET", "/api/v2/configs", secret, ""); got.status != 200 {
		t.Errorf("a server's key: %s", got)
	}
	if got := w.ask(r.Server, "GET", "/api/v2/configs", "web", ""); got.status != 401 {
		t.Errorf("a browser's key is taken for a server's: %s", got)
	}
	if w.times("/api/v2/key") != 0 {
		t.Error("the service is asked")
	}
}

// TestAServiceThatHangsHoldsNobodyUp whose key was good: the question goes on beside.
func TestAServiceThatHangsHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	var offset atomic.Int64
	r.keys.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	w.ask(r.Server, "GET", polls+someone, public, "")
	address := w.eventsOf(r.Server, public)
	release := make(chan struct{})
	defer close(release)
	w.answers(func(http.ResponseWriter, *http.Request) { <-release })
	offset.Add(int64(2 * time.Minute))
	w.ask(r.Server, "GET", polls+someone, public, "") // which finds out
	begin := time.Now()
	before := w.times("/api/v2/key")
	for range 50 {
		offset.Add(int64(awayFor)) // so that it may be asked again
		if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.status != 200 {
			t.Fatalf("a key that was good: %s", got)
		}
	}
	w.stream(r.Server, address, "")
	if n := w.times("/api/v2/key") - before; n > 2 {
		t.Errorf("a service that hangs is asked %d times", n)
	}
	if took := time.Since(begin); took > askTime {
		t.Errorf("51 requests waited for it: %v", took)
	}
}

// TestHowLongAServiceThatIsAwayIsLeftAlone, with clients and without.
func TestHowLongAServiceThatIsAwayIsLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		clients  bool
		failures int
		asked    time.Duration
		low, top time.Duration
	}{
		{true, 1, 0, 900 * time.Millisecond, 1100 * time.Millisecond},
		{true, 2, 0, 1800 * time.Millisecond, 2200 * time.Millisecond},
		{true, 3, 0, 3600 * time.Millisecond, 4400 * time.Millisecond},
		{true, 4, 0, 4500 * time.Millisecond, 5500 * time.Millisecond},
		{true, 1000, 0, 4500 * time.Millisecond, 5500 * time.Millisecond},
		{false, 4, 0, 7200 * time.Millisecond, 8800 * time.Millisecond},
		{false, 1000, 0, 54 * time.Second, 66 * time.Second},
		{true, 1, 20 * time.Second, 20 * time.Second, 20 * time.Second},
		{true, 1, time.Hour, time.Minute, time.Minute},
	} {
		e := &environment{relay: &Relay{}, hurry: make(chan struct{}, 1)}
		if tt.clients {
			e.wanted.Store(time.Now().Unix())
		}
		if got := e.wait(tt.failures, tt.asked); got < tt.low || got > tt.top {
			t.Errorf("%+v: %v", tt, got)
		}
		_, _ = e.serve()
		if hurried := len(e.hurry) == 1; hurried == tt.clients {
			t.Errorf("%+v: a client that comes ends the wait: %t", tt, hurried)
		}
	}
}

// TestAClientEndsTheRestOfARelay that nobody has asked for long.
func TestAClientEndsTheRestOfARelay(t *testing.T) {
	w := newWorld(t, shop)
	secret := w.key(access.KindSecretSDK, "production")
	w.answers(gone)
	r := w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	e := r.environments[0]
	w.eventually("a long wait", func() bool { return e.resting.Load() })
	for w.times("/api/v2/configs") < 3 { // so that the next wait is one of seconds
		time.Sleep(5 * time.Millisecond)
	}
	w.answers(nil)
	w.eventually("a state", func() bool { return w.ask(r.Server, "GET", polls+someone, "web", "").status == 200 })
}

func report(user string) string {
	return `{"instanceHash":"i","batchId":"` + user + `","events":[{"exampleContexts":{"examples":[{"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"` + user + `"}}}]}}]}}]}`
}

// TestTelemetryIsPassedOn in batches, judged here, and bounded while the service is away.
func TestTelemetryIsPassedOn(t *testing.T) {
	const path = "/api/v1/telemetry/"
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
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
	if n := w.times(path) - before; n != 3 {
		t.Errorf("250 reports of an event each are passed on in %d batches, want 3", n)
	}
	r.end()
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
		e.pass([]byte(large))
	}
	if n := e.uploads.Waiting(); n != maxBatches {
		t.Errorf("%d batches wait", n)
	}
}

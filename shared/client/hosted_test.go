package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/endpoints"
	service "svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

const sdkKey = "svc_sk_test"

// server stands in for hosted delivery.
type server struct {
	*httptest.Server
	t        testing.TB
	mu       sync.Mutex
	answer   http.HandlerFunc // instead of the usual one
	version  string
	configs  string
	polls    atomic.Int64
	statuses []int
	takes    http.HandlerFunc // of telemetry
	streams  http.HandlerFunc // nil for none
	uploads  []map[string]any
}

func newServer(t testing.TB, documents ...string) *server {
	s := &server{t: t, version: "v1", configs: hostedForm(documents...)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// hostedForm are documents as the service sends them.
func hostedForm(documents ...string) string {
	var entries []string
	for _, text := range documents {
		entries = append(entries, strings.Replace(text, `{"key"`, `{"id":"id","sendToClientSdk":false,"environment":null,"key"`, 1))
	}
	return strings.Join(entries, ",")
}

func (s *server) set(version string, documents ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.configs = version, hostedForm(documents...)
}

func (s *server) reply(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = h
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == endpoints.ReportContexts.Path+"/" {
		s.upload(w, r)
		return
	}
	if r.URL.Path == endpoints.DocumentEvents.Path {
		s.stream(w, r)
		return
	}
	s.polls.Add(1)
	s.mu.Lock()
	answer, version, configs := s.answer, s.version, s.configs
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	user, key, _ := r.BasicAuth()
	etag := `"` + version + `"`
	switch {
	case r.URL.Path != endpoints.Documents.Path || r.Method != "GET":
		s.status(w, 404)
	case user != "1" || key != sdkKey:
		s.status(w, 401)
		fmt.Fprint(w, `{"error":"UNAUTHORIZED","message":"this is a public SDK key; the configs of a server need a secret one (svc_sk_...)"}`)
	case r.Header.Get("If-None-Match") == etag:
		s.status(w, 304)
	default:
		w.Header().Set("ETag", etag)
		s.status(w, 200)
		fmt.Fprintf(w, `{"configs":[%s],"meta":{"version":%q,"environment":"production","workspaceId":"w"}}`, configs, version)
	}
}

func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	if s.streams == nil {
		w.WriteHeader(404)
		return
	}
	s.streams(w, r)
}

func (s *server) status(w http.ResponseWriter, status int) {
	s.mu.Lock()
	s.statuses = append(s.statuses, status)
	s.mu.Unlock()
	w.WriteHeader(status)
}

func (s *server) upload(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	if _, issues := service.Decode(text); len(issues) > 0 {
		s.t.Errorf("the service refuses an upload: %v", issues)
	}
	var body map[string]any
	err := json.Unmarshal(text, &body)
	s.mu.Lock()
	s.uploads = append(s.uploads, body)
	takes := s.takes
	s.mu.Unlock()
	switch {
	case err != nil:
		w.WriteHeader(400)
	case takes != nil:
		takes(w, r)
	default:
		w.WriteHeader(202)
	}
}

func (s *server) taken() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.uploads...)
}

func (s *server) options() Options {
	return Options{URL: s.URL, Key: sdkKey, PollEvery: 10 * time.Millisecond, FirstLoad: 10 * time.Second}
}

func switched(on string) string {
	return documentOf("feature_flag", "f", "bool", always(plainValue("bool", on)))
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

func TestBothSourcesServeTheSame(t *testing.T) {
	docs := append(everyType(), planFlag())
	local, hosted := serving(t, docs...), open(t, newServer(t, docs...).options())
	for key := range local.table.Load().index {
		if a, b := fmt.Sprint(ask(local, key)), fmt.Sprint(ask(hosted, key)); a != b {
			t.Errorf("%s: %s in a directory, %s hosted", key, a, b)
		}
	}
}

func TestPolling(t *testing.T) {
	s := newServer(t, switched("false"))
	c := open(t, s.options())
	if c.Bool(t.Context(), "f", true) || c.Version() != "v1" {
		t.Fatal("the first state is not served")
	}
	eventually(t, "polls without a change are 304", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.statuses) > 3 && s.statuses[0] == 200 && s.statuses[1] == 304 && s.statuses[2] == 304
	})
	ctx := contexts.With(t.Context(), somebody)
	c.Bool(ctx, "f", true)
	s.set("v2", switched("true"))
	eventually(t, "the change is served", func() bool { return c.Version() == "v2" })
	if !c.Bool(ctx, "f", false) || !c.Bool(t.Context(), "f", false) {
		t.Error("a prepared context is served from the old state")
	}
}

func TestTheLastGoodStateIsKept(t *testing.T) {
	for what, broken := range map[string]http.HandlerFunc{
		"500": status(500), "401": status(401), "404": status(404), "empty": status(200), "not JSON": answering("<html>"),
		"another JSON": answering(`{"ok":true}`), "an object": answering(`{}`), "null": answering(`null`), "a list": answering(`[]`),
		"no list": answering(`{"meta":{"version":"v9","environment":"production"}}`), "no meta": answering(`{"configs":[]}`), "a null list": answering(`{"configs":null,"meta":{"version":"v9","environment":"production"}}`),
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"configs":[`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, switched("true"))
			c := open(t, s.options())
			s.reply(broken)
			eventually(t, "stale", func() bool { return c.Status() == Stale })
			if !c.Bool(t.Context(), "f", false) || c.Version() != "v1" {
				t.Error("the last good state is gone")
			}
			s.reply(nil)
			s.set("v2", switched("false"))
			eventually(t, "ready again", func() bool { return c.Status() == Ready && c.Version() == "v2" })
		})
	}
}

func TestEventsTellWhatHappens(t *testing.T) {
	s := newServer(t, switched("true"), planFlag())
	c := open(t, s.options())
	events := make(chan Event, 100)
	cancel := c.Listen(func(e Event) { events <- e })
	s.set("v2", switched("false"), everyType()[0], planFlag())
	if e := <-events; fmt.Sprint(e.Changed) != "[bool f]" || e.Version != "v2" || e.Status != Ready {
		t.Errorf("%+v", e)
	}
	s.set("v3", switched("false"), planFlag())
	if e := <-events; fmt.Sprint(e.Changed) != "[bool]" {
		t.Errorf("a removed one: %+v", e)
	}
	s.reply(status(500))
	if e := <-events; e.Status != Stale || e.Err == nil || e.Version != "v3" {
		t.Errorf("%+v", e)
	}
	s.reply(nil)
	if e := <-events; e.Status != Ready || len(e.Changed) > 0 {
		t.Errorf("%+v", e)
	}
	cancel()
	s.set("v4", planFlag())
	eventually(t, "v4", func() bool { return c.Version() == "v4" })
	if len(events) > 0 {
		t.Errorf("told after cancel: %+v", <-events)
	}
}

func TestARefusedKeyIsAnErrorAtOnceInTheServersWords(t *testing.T) {
	s := newServer(t)
	o := s.options()
	o.Key, o.FirstLoad = "svc_pk_public", time.Hour
	_, err := Open(t.Context(), o)
	var load *LoadError
	if !errors.As(err, &load) || load.Status != 401 || !strings.Contains(err.Error(), "this is a public SDK key; the configs of a server need a secret one (svc_sk_...)") {
		t.Errorf("%v", err)
	}
}

func TestTheKeyIsNotTakenAlongByARedirect(t *testing.T) {
	reached := make(chan string, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Header.Get("Authorization") }))
	defer elsewhere.Close()
	s := newServer(t)
	s.reply(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	for _, own := range []*http.Client{nil, {Timeout: time.Minute}} {
		o := s.options()
		o.HTTP, o.FirstLoad = own, time.Hour
		_, err := Open(t.Context(), o)
		var load *LoadError
		if !errors.As(err, &load) || load.Status != 302 || !strings.Contains(err.Error(), "the address redirects") {
			t.Errorf("%v", err)
		}
		if own != nil && own.CheckRedirect != nil {
			t.Error("the caller's client was changed")
		}
	}
	select {
	case key := <-reached:
		t.Errorf("the redirect was followed, with %q", key)
	default:
	}
}

func TestTheFirstLoadHasADeadline(t *testing.T) {
	s := newServer(t, switched("true"))
	s.reply(status(503))
	o := s.options()
	o.FirstLoad = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	hangs := make(chan struct{})
	s.reply(func(http.ResponseWriter, *http.Request) { <-hangs })
	defer close(hangs)
	o.FirstLoad = 30 * time.Millisecond
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no state within 30ms: there was no answer yet") {
		t.Errorf("a server that hangs: %v", err)
	}
}

func TestStartAnyway(t *testing.T) {
	s := newServer(t, switched("true"))
	s.reply(status(401))
	o := s.options()
	o.StartAnyway = true
	c := open(t, o)
	d := c.BoolDetails(t.Context(), "f", false)
	var e *Error
	if !errors.As(d.Err, &e) || e.Code != NotReady || c.Status() != Starting || c.Version() != "" {
		t.Errorf("%v, %s", d.Err, c.Status())
	}
	if got := c.LogLevel(t.Context(), "x", 42); got != 42 {
		t.Error("a log level before the first state")
	}
	s.reply(nil)
	must.Do(t, c.Await(t.Context()))
	if !c.Bool(t.Context(), "f", false) {
		t.Error("the late first state is not served")
	}
}

func TestOptionsAreCheckedAtOnce(t *testing.T) {
	_, err := Open(t.Context(), Options{Datadir: "x", URL: "ftp://user@x?y", PollEvery: -1})
	for _, words := range []string{"has one of them", "Options.Key is missing", "scheme and host", "negative"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not said: %v", words, err)
		}
	}
	if _, err := Open(t.Context(), Options{Datadir: t.TempDir(), Telemetry: true}); err == nil {
		t.Error("telemetry of a directory")
	}
}

func TestRetryAfterIsKeptTo(t *testing.T) {
	s := newServer(t, switched("true"))
	c := open(t, s.options())
	s.reply(status(429, "Retry-After", "600"))
	eventually(t, "stale", func() bool { return c.Status() == Stale })
	before := s.polls.Load()
	time.Sleep(100 * time.Millisecond)
	if s.polls.Load() != before {
		t.Error("asked again before the time")
	}
}

func TestCloseEndsPollingAndKeepsServing(t *testing.T) {
	s := newServer(t, switched("true"))
	c := open(t, s.options())
	if c.Close() != nil || c.Close() != nil {
		t.Error("closing fails")
	}
	before := s.polls.Load()
	time.Sleep(50 * time.Millisecond)
	if s.polls.Load() != before || !c.Bool(t.Context(), "f", false) {
		t.Error("polls after Close, or serves nothing")
	}
}

func TestDecode(t *testing.T) {
	own := `"environment":{"id":"anything","rules":[` + always(plainValue("bool", "true")) + `]}`
	body := `{"configs":[
		{"key":"own","type":"feature_flag","valueType":"bool","default":{"rules":[]},` + own + `,"other":1},
		{"key":"absent","type":"feature_flag","valueType":"bool","default":{"rules":[]}},
		{"key":"odd","type":"feature_flag","valueType":"bool","default":{"rules":[]},"environment":[]},
		{"key":"type","type":"feature_flag","valueType":"bool","default":{"rules":[` + always(plainValue("bool", `"secret text"`)) + `]}},
		{"key":"schema","type":"schema","valueType":"json","default":{"rules":[]}},
		{"key":"own","type":"feature_flag","valueType":"bool","default":{"rules":[]}},
		7, null,
		{"key":"kept","type":"config","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"string","confidential":true}}]}},
		{"key":"arms","type":"config","valueType":"json","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[{"weight":1,"value":{"type":"json","confidential":true}}]}}}]}},
		{"key":"inner","type":"config","valueType":"json","default":{"rules":[` + always(`{"type":"json","value":{"confidential":true,"type":"x"}}`) + `]}}
	],"meta":{"version":"v","environment":"production","workspaceId":"w"}}`
	from, skipped, err := decode([]byte(body))
	must.Do(t, err)
	table := newTable(from, Options{Getenv: environment(nil)})
	var keys []string
	for _, i := range table.items {
		keys = append(keys, i.key)
	}
	if fmt.Sprint(keys) != "[absent arms inner kept own]" || len(skipped) != 6 || table.workspace != "w" {
		t.Errorf("keys %v, skipped %q", keys, skipped)
	}
	for _, line := range skipped {
		if strings.Contains(line, "secret text") {
			t.Errorf("a value is in the words: %s", line)
		}
	}
	c := &Client{now: func() int64 { return 0 }}
	c.table.Store(table)
	if !c.Bool(t.Context(), "own", false) {
		t.Error("the environment's own rules are not used")
	}
	if got := string(c.JSON(t.Context(), "inner", nil)); got != `{"confidential":true,"type":"x"}` {
		t.Errorf("a json that looks like a withheld value: %s", got)
	}
	for _, key := range []string{"kept", "arms"} {
		if d := c.AnyDetails(t.Context(), key, nil); d.Err == nil || !strings.Contains(d.Err.Error(), "the service does not send it") {
			t.Errorf("%s: %v", key, d.Err)
		}
	}
}

func TestEntriesThatCannotBeReadAreWarnedOfOnce(t *testing.T) {
	var j journal
	s := newServer(t, switched("true"), `{"key":"bad","type":"feature_flag","valueType":"bool"}`)
	o := s.options()
	o.Log = j.log()
	c := open(t, o)
	s.set("v2", switched("false"), `{"key":"bad","type":"feature_flag","valueType":"bool"}`)
	eventually(t, "v2", func() bool { return c.Version() == "v2" })
	if j.count("left out") != 1 {
		t.Errorf("said %d times:\n%s", j.count("left out"), j.String())
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"configs":[` + hostedForm(append(everyType(), planFlag(), threeRules)...) + `],"meta":{"version":"v","environment":"e","workspaceId":"w"}}`))
	f.Add([]byte(`{"configs":[{"key":"k","type":"config","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"string","confidential":true}}]},"environment":{"id":1,"rules":null}}],"meta":{"environment":"e"}}`))
	f.Add([]byte(`{"configs":[null,[],{"environment":{}}],"meta":{"environment":"e"}}`))
	f.Add([]byte(`{`))
	ctx := contexts.With(context.Background(), somebody)
	f.Fuzz(func(t *testing.T, body []byte) {
		from, _, err := decode(body)
		if err != nil {
			return
		}
		c := &Client{now: func() int64 { return 0 }}
		c.table.Store(newTable(from, Options{Getenv: environment(nil)}))
		for key := range c.table.Load().index {
			ask(c, key)
			_ = fmt.Sprint(c.AnyDetails(ctx, key, nil))
		}
	})
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

func TestEditsOfADatadirAreServed(t *testing.T) {
	var j journal
	dir := datadirOf(t, switched("false"), planFlag())
	c := open(t, Options{Datadir: dir, Log: j.log()})
	events := make(chan Event, 100)
	c.Listen(func(e Event) { events <- e })
	write(t, dir, switched("true"))
	if e := <-events; strings.Join(e.Changed, " ") != "f" || !c.Bool(t.Context(), "f", false) {
		t.Errorf("%+v", e)
	}
	write(t, dir, `{"key":"f","type":"feature_flag","valueType":"bool"}`)
	if e := <-events; e.Status != Stale || !strings.Contains(e.Err.Error(), "feature-flags/f.json") {
		t.Errorf("%+v", e)
	}
	if !c.Bool(t.Context(), "f", false) || c.Status() != Stale {
		t.Error("the last good state is gone")
	}
	write(t, dir, switched("false"))
	if e := <-events; e.Status != Ready || c.Bool(t.Context(), "f", true) {
		t.Errorf("%+v", e)
	}
	if j.count("not reloaded") != 1 {
		t.Errorf("said %d times:\n%s", j.count("not reloaded"), j.String())
	}
}

func TestADirectoryThatCannotBeServedIsRefusedWithAllItsProblems(t *testing.T) {
	dir := datadirOf(t, switched("true"), `{"key":"a","type":"config","valueType":"string"}`, `{"key":"b","type":"config","valueType":"string"}`)
	_, err := Open(t.Context(), Options{Datadir: dir})
	var refusal *Refusal
	if !errors.As(err, &refusal) || len(refusal.Problems) < 2 || !strings.Contains(err.Error(), "configs/b.json") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), Options{Datadir: filepath.Join(dir, "nowhere")}); err == nil || !strings.Contains(err.Error(), "Options.Datadir") {
		t.Errorf("%v", err)
	}
}

func TestEnvironments(t *testing.T) {
	dir := datadirOf(t, `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[`+always(plainValue("string", `"default"`))+`]},"environments":[{"id":"production","rules":[`+always(plainValue("string", `"production"`))+`]}]}`)
	value := func(o Options) string {
		o.Datadir = dir
		return open(t, o).String(t.Context(), "f", "")
	}
	if got := value(Options{}); got != "default" {
		t.Errorf("development: %s", got)
	}
	if got := value(Options{Environment: "production"}); got != "production" {
		t.Errorf("production: %s", got)
	}
	t.Setenv("SVC_ENVIRONMENT", "production")
	if got := value(Options{}); got != "production" {
		t.Errorf("from the variable: %s", got)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "svc.json"), []byte(`{"environments":["staging"]}`), 0o644))
	if _, err := Open(t.Context(), Options{Datadir: dir}); err == nil || !strings.Contains(err.Error(), `"production"`) || !strings.Contains(err.Error(), "declared are staging") {
		t.Errorf("an environment that is not declared: %v", err)
	}
}

// TestAnArchivedEnvironmentIsNotServed, as svc serve and the service refuse it; one that is
// archived while it is served stays as it was, and it is said.
func TestAnArchivedEnvironmentIsNotServed(t *testing.T) {
	const active, archived = `{"environments":["development","staging"]}`, `{"environments":["development",{"name":"staging","archived":true}]}`
	var j journal
	dir := datadirOf(t, switched("true"))
	declare := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, "svc.json"), []byte(text), 0o666))
	}
	declare(archived)
	const want = `the environment "staging" (Options.Environment, else $SVC_ENVIRONMENT, else development) is archived, so that nothing is served there; declared are development`
	var refusal *Refusal
	if _, err := Open(t.Context(), Options{Datadir: dir, Environment: "staging"}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v", err)
	}
	declare(active)
	c := open(t, Options{Datadir: dir, Environment: "staging", Log: j.log()})
	declare(archived)
	eventually(t, "it is said", func() bool { return j.count("is archived") > 0 && c.Status() == Stale })
	if !c.Bool(t.Context(), "f", false) {
		t.Error("what was served last is gone")
	}
}

func TestTheDatadirIsDiscovered(t *testing.T) {
	dir := datadirOf(t, switched("true"))
	t.Chdir(t.TempDir())
	if _, err := Open(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "SVC_DIR") {
		t.Errorf("%v", err)
	}
	t.Setenv("SVC_DIR", dir)
	if !open(t, Options{}).Bool(t.Context(), "f", false) {
		t.Error("SVC_DIR is not used")
	}
}

func TestALinkOutOfADatadirIsLeftOutAndLogged(t *testing.T) {
	var j journal
	dir, far := datadirOf(t, switched("true"), planFlag()), filepath.Join(t.TempDir(), "f.json")
	must.Do(t, os.Rename(filepath.Join(dir, "feature-flags", "f.json"), far))
	if err := os.Symlink(far, filepath.Join(dir, "feature-flags", "f.json")); err != nil {
		t.Skip(err)
	}
	if c := open(t, Options{Datadir: dir, Log: j.log()}); c.Bool(t.Context(), "f", false) || j.count("leads out of the config directory") != 1 {
		t.Errorf("logged: %s", j.String())
	}
}

// roundTrip stands in for a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// failing is a network in which every request ends with an error.
func failing(err error) *http.Client {
	return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })}
}

// nobody is an address at which nobody listens.
func nobody() string { return "http://127.0.0.1:" + freeport.Take() }

func TestALoadErrorCarriesTheLastCause(t *testing.T) {
	short := Options{URL: nobody(), Key: sdkKey, FirstLoad: 300 * time.Millisecond}
	dns := &net.DNSError{Err: "no such host", Name: "flags.invalid", IsNotFound: true}
	noName, patient := short, short
	noName.HTTP = failing(&net.OpError{Op: "dial", Net: "tcp", Err: dns})
	patient.FirstLoad = time.Hour

	for _, tt := range []struct {
		what  string
		limit time.Duration // of the caller
		o     Options
		words string
		is    []error
	}{
		{"nobody listens", time.Hour, short, "no state within 300ms: dial tcp", []error{syscall.ECONNREFUSED}},
		{"no such host", time.Hour, noName, "no state within 300ms: dial tcp: lookup flags.invalid: no such host", []error{dns}},
		{"the caller's deadline", 300 * time.Millisecond, patient, "context deadline exceeded: dial tcp", []error{context.DeadlineExceeded, syscall.ECONNREFUSED}},
	} {
		tt.o.Log = slog.New(slog.DiscardHandler)
		ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
		defer cancel()
		_, err := Open(ctx, tt.o)
		var load *LoadError
		if !errors.As(err, &load) || load.From != tt.o.URL || load.Status != 0 || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", tt.what, err)
		}
		if strings.Count(fmt.Sprint(err), "svc: ") != 1 {
			t.Errorf("%s: said twice: %v", tt.what, err)
		}
		for _, target := range tt.is {
			if !errors.Is(err, target) {
				t.Errorf("%s: %v is not %v", tt.what, err, target)
			}
		}
	}
}

func TestALoadErrorCarriesTheServersWords(t *testing.T) {
	s := newServer(t)
	s.reply(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		fmt.Fprint(w, `{"error":"UNAVAILABLE","message":"the workspace is being moved"}`)
	})
	o := s.options()
	o.FirstLoad = 300 * time.Millisecond
	o.Log = slog.New(slog.DiscardHandler)
	_, err := Open(t.Context(), o)
	var load *LoadError
	if !errors.As(err, &load) || load.Status != 503 || !strings.Contains(err.Error(), "no state within 300ms: 503: the workspace is being moved") {
		t.Errorf("%v", err)
	}
	var j journal
	o.StartAnyway, o.Log = true, j.log()
	open(t, o)
	if !strings.Contains(j.String(), "serving defaults") || j.count("the workspace is being moved") != 2 {
		t.Errorf("log:\n%s", j.String())
	}
}

// TestEveryChangeOfHowAServiceStandsIsLogged: a failure, another one, good
// again; and the same one over and over once.
func TestEveryChangeOfHowAServiceStandsIsLogged(t *testing.T) {
	var j journal
	s := newServer(t, switched("true"))
	o := s.options()
	o.Log = j.log()
	c := open(t, o)
	const complaint, recovered = "will go on trying", "good again"
	fails := func(status, failures int) {
		t.Helper()
		s.reply(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		})
		eventually(t, "a failure", func() bool { return j.count(complaint) == failures })
	}
	recovers := func(times int) {
		t.Helper()
		s.reply(nil)
		eventually(t, "good again", func() bool { return j.count(recovered) == times })
		for polls := s.polls.Load(); s.polls.Load() < polls+3; {
			time.Sleep(time.Millisecond)
		}
	}
	fails(500, 1)
	fails(401, 2)
	recovers(1)
	fails(401, 3) // as before, but it was good meanwhile
	s.set("v2", switched("false"))
	recovers(2) // with a new state
	if c.Close(); j.count(complaint) != 3 || j.count(recovered) != 2 || j.count("500: Internal") != 1 || j.count("401: Unauthorized") != 2 {
		t.Errorf("log:\n%s", j.String())
	}
}

func TestAKeyAndAnAddressAsTheyAreCopied(t *testing.T) {
	s := newServer(t, switched("true"))
	for _, suffix := range []string{"", "/", "/v1", "/v1/", "/v1//"} {
		o := s.options()
		o.URL += suffix
		o.Key = "\n\t " + o.Key + " \r\n"
		if c := open(t, o); !c.Bool(t.Context(), "f", false) {
			t.Errorf("%q is not served", suffix)
		}
	}
	for address, want := range map[string]string{
		"https://x/flags/v1": "https://x/flags", "https://x/v1/": "https://x", "https://v1": "https://v1", "https://v1/": "https://v1/",
		"https://x/v1/flags": "https://x/v1/flags", "https://x/av1": "https://x/av1", "": "", "%": "%",
	} {
		if got := (Options{URL: address}).tidied().URL; got != want {
			t.Errorf("%s is taken for %s", address, got)
		}
	}
	if _, err := Open(t.Context(), Options{URL: s.URL, Key: " \n"}); err == nil || !strings.Contains(err.Error(), "Options.Key is missing") {
		t.Errorf("a key of white space: %v", err)
	}
}

// streams stands in for event streams: each connection says what is sent to it.
type streams struct {
	sent  chan string
	asked chan string // the Last-Event-ID of each connection
}

func newStreams() *streams { return &streams{make(chan string), make(chan string, 10)} }

// serve sends a text for each that is put in; "" ends the connection.
func (s *streams) serve(w http.ResponseWriter, r *http.Request) {
	if user, key, _ := r.BasicAuth(); user != "1" || key != sdkKey {
		w.WriteHeader(401)
		return
	}
	s.asked <- r.Header.Get("Last-Event-ID")
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprint(w, ": svc\nretry: 60\nid: v\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case text := <-s.sent:
			if text == "" {
				return
			}
			fmt.Fprint(w, text)
		case <-r.Context().Done():
			return
		}
	}
}

func sentEvent(version string, documents ...string) string {
	return fmt.Sprintf("id: %[1]s\nevent: message\ndata: {\"configs\":[%[2]s],\"meta\":{\"version\":%[1]q,\"environment\":\"production\",\"workspaceId\":\"w\"}}\n\n", version, hostedForm(documents...))
}

// TestAStreamBringsChanges, and a connection that ends is made again, after a poll.
func TestAStreamBringsChanges(t *testing.T) {
	s, in := newServer(t, switched("false")), newStreams()
	s.streams = in.serve
	o := s.options()
	o.PollEvery = time.Hour
	var j journal
	o.Log = j.log()
	c := open(t, o)
	if asked := <-in.asked; asked != "v1" {
		t.Errorf("the stream is asked for after %q", asked)
	}
	in.sent <- ":\n\n"
	in.sent <- sentEvent("v2", switched("true"))
	eventually(t, "an event is served", func() bool { return c.Bool(t.Context(), "f", false) && c.Version() == "v2" && c.Streaming() })

	s.set("v3", switched("false"))
	in.sent <- ""
	if asked := <-in.asked; asked != "v3" {
		t.Errorf("after a poll, the stream is asked for after %q", asked)
	}
	eventually(t, "what a poll has brought", func() bool { return !c.Bool(t.Context(), "f", true) })

	in.sent <- "id: v4\ndata: {\"configs\":\n\n" // half of one
	<-in.asked
	in.sent <- sentEvent("v5", switched("true"))
	eventually(t, "an event after a bad one", func() bool { return c.Version() == "v5" })
	if said := j.count("hearing of changes over an event stream"); said != 1 {
		t.Errorf("it is said %d times:\n%s", said, j.String())
	}
}

// TestWithoutAStreamThereArePolls, whatever the server answers.
func TestWithoutAStreamThereArePolls(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404":                    nil,
		"401":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"503":                    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"a page":                 func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html>") },
		"a redirect":             func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 302) },
		"a connection that ends": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, switched("false"))
			s.streams = answer
			c := open(t, s.options())
			s.set("v2", switched("true"))
			eventually(t, "a poll brings the change", func() bool { return c.Bool(t.Context(), "f", false) })
			if c.Streaming() {
				t.Error("it says that there is a stream")
			}
		})
	}
}

// folders are where the types lie in a datadir.
var folders = map[string]string{"feature_flag": "feature-flags", "config": "configs", "log_level": "log-levels", "segment": "segments"}

// datadirOf writes documents into a directory of their own.
func datadirOf(t testing.TB, documents ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, text := range documents {
		write(t, dir, text)
	}
	return dir
}

func write(t testing.TB, dir, text string) {
	t.Helper()
	var head struct{ Key, Type string }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	path := filepath.Join(dir, folders[head.Type], head.Key+".json")
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if err := atomicfile.ReplaceAt(path, []byte(text), 0o644); err != nil { // or the file could be seen empty
		t.Fatal(err)
	}
}

// serving is a client of documents in a directory.
func serving(t testing.TB, documents ...string) *Client {
	t.Helper()
	return open(t, Options{Datadir: datadirOf(t, documents...)})
}

func open(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := must.Get(Open(context.Background(), o))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}

// journal is a log that tests can look into.
type journal struct{ svcbinary.Log }

func (j *journal) count(words string) int { return strings.Count(j.String(), words) }

func (j *journal) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// document writes one with default rules.
func documentOf(kind, key, valueType string, rules ...string) string {
	return fmt.Sprintf(`{"key":%q,"type":%q,"valueType":%q,"default":{"rules":[%s]}}`, key, kind, valueType, strings.Join(rules, ","))
}

// always is a fallback rule for a value.
func always(value string) string {
	return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}`
}

func plainValue(kind, value string) string {
	return fmt.Sprintf(`{"type":%q,"value":%s}`, kind, value)
}

// when is a rule for one value of one property.
func when(property, is, value string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":%q,"valueToMatch":{"type":"string_list","value":[%q]}}],"value":%s}`, property, is, value)
}

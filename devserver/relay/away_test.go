package relay

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// TestHostileServices: what cannot be served never takes the place of what is, and the
// key goes nowhere else.
func TestHostileServices(t *testing.T) {
	t.Parallel()
	var strayed atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	t.Cleanup(func() {
		elsewhere.Close()
		if strayed.Load() > 0 {
			t.Error("a redirect was followed")
		}
	})
	foreign := newWorld(t, shop)
	foreignBody := foreign.ask(foreign.front, "GET", "/api/v2/configs", foreign.key(access.KindSecretSDK, "production"), "").body
	half := func(body string) string { return body[:len(body)/2] }
	says := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			text := body
			if status == 200 {
				text = "data: " + body + "\n\n"
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(text))
		}
	}
	// Each is told what the service says of its own environment, and of another one.
	for name, hostile := range map[string]func(own, development string) http.HandlerFunc{
		"401": func(string, string) http.HandlerFunc { return says(401, `{"error":"UNAUTHORIZED","message":"no"}`) },
		"401 that tells a key": func(string, string) http.HandlerFunc {
			return func(rw http.ResponseWriter, r *http.Request) {
				_, key, _ := r.BasicAuth()
				says(401, `{"message":"not `+key+`"}`)(rw, r)
			}
		},
		"500":         func(string, string) http.HandlerFunc { return says(500, "<html>") },
		"a page":      func(string, string) http.HandlerFunc { return answering("<!doctype html>") },
		"half a body": func(own, _ string) http.HandlerFunc { return answering(half(own)) },
		"a body that ends": func(own, _ string) http.HandlerFunc {
			return func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Length", "100000")
				_, _ = rw.Write([]byte(own[:100]))
			}
		},
		"another workspace":     func(string, string) http.HandlerFunc { return answering(foreignBody) },
		"another environment":   func(_, development string) http.HandlerFunc { return answering(development) },
		"events of another one": func(string, string) http.HandlerFunc { return says(200, foreignBody) },
		"half an event":         func(own, _ string) http.HandlerFunc { return says(200, half(own)) },
		"a redirect": func(string, string) http.HandlerFunc {
			return http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP
		},
		"nothing": func(string, string) http.HandlerFunc { return gone },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shop)
			public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
			instead := hostile(w.ask(w.front, "GET", "/api/v2/configs", secret, "").body, w.ask(w.front, "GET", "/api/v2/configs", w.key(access.KindSecretSDK, "development"), "").body)
			r := w.relay(Options{Keys: []string{secret}})
			must.Do(w, r.Await(t.Context()))
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
			if name == "another environment" {
				return // a relay that has no state yet knows its environment from the service alone
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
}

func answering(body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(body)) }
}

// TestARelayStartsFromItsCache while the service is away: keys that were good are, and
// others are 503, until it is back.
func TestARelayStartsFromItsCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret, revoked, unseen := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production")
	options := Options{Keys: []string{secret}, Cache: filepath.Join(t.TempDir(), "cache")}
	r := w.relay(options)
	must.Do(w, r.Await(t.Context()))
	want := w.ask(r.Server, "GET", polls+someone, public, "")
	w.ask(r.Server, "GET", polls+someone, revoked, "")
	address := w.eventsOf(r.Server, public)
	r.end()
	files := must.Get(os.ReadDir(options.Cache))(w)
	for _, file := range files {
		text := must.Get(os.ReadFile(filepath.Join(options.Cache, file.Name())))(w)
		info := must.Get(file.Info())(w)
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
	must.Do(w, r.Await(t.Context()))
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); want.status != 200 || got.String() != want.String() {
		t.Errorf("from the cache: %s, want %s", got, want)
	}
	if got := w.ask(r.Server, "GET", polls+someone, unseen, ""); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("a key that was never seen: %s", got)
	}
	w.stream(r.Server, address, "")
	w.eventually("it says so", func() bool { // which it does once it serves
		log := w.log.String()
		return strings.Contains(log, "serving the state that was kept") && strings.Contains(log, "age=")
	})
	if ready := w.ask(r.Server, "GET", "/readyz", "", ""); ready.status != 200 {
		t.Errorf("not ready: %s", ready)
	}
	w.revoke(revoked)
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

// TestACacheThatOthersCanWriteTo is told of: they decide what is served while the service
// is away.
func TestACacheThatOthersCanWriteTo(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing of who may write there")
	}
	w := newWorld(t, shop)
	for mode, want := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o777: true, 0o770: true} {
		options := Options{Keys: []string{w.key(access.KindSecretSDK, "production")}, Cache: t.TempDir()}
		must.Do(w, os.Chmod(options.Cache, mode))
		before := strings.Count(w.log.String(), "others than this user can write to the directory of the cache")
		w.relay(options)
		if said := strings.Count(w.log.String(), "others than this user can write to the directory of the cache") > before; said != want {
			t.Errorf("%v: said %v", mode, said)
		}
	}
}

// TestABrokenCacheIsNoReasonNotToStart, and nothing is served of one that is another key's.
func TestABrokenCacheIsNoReasonNotToStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret, staging := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindSecretSDK, "development")
	options := Options{Keys: []string{secret, staging}, Cache: t.TempDir()}
	path := func(text string) string {
		key := must.Get(access.ParseKey(text))(w)
		return filepath.Join(options.Cache, "state-"+string(key.ID())+".json.gz")
	}
	first := w.relay(options)
	must.Do(w, first.Await(t.Context()))
	w.ask(first.Server, "GET", polls+someone, public, "")
	if _, err := Open(Options{URL: w.front.URL, Keys: options.Keys, Cache: options.Cache, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), options.Cache+" is the cache of another relay") {
		t.Errorf("two relays have one directory: %v", err)
	}
	first.end()
	must.Do(w, os.Rename(path(staging), path(secret)))
	must.Do(w, os.WriteFile(path(staging), []byte("{"), 0o600))
	w.answers(gone)
	away := w.relay(options)
	w.eventually("it says so", func() bool { return strings.Count(w.log.String(), "going on without") == 2 })
	if log := w.log.String(); !strings.Contains(log, path(secret)+" was not kept with this key") || !strings.Contains(log, path(staging)) {
		t.Errorf("it does not say which files, and why:\n%s", log)
	}
	if got := w.ask(away.Server, "GET", polls+someone, public, ""); got.status != 503 {
		t.Errorf("of another environment: %s", got)
	}
	w.answers(nil)
	must.Do(w, away.Await(t.Context()))
	away.end()
	must.Do(w, os.WriteFile(filepath.Join(options.Cache, keysFile), []byte("{"), 0o600))
	must.Do(w, w.relay(options).Await(t.Context()))
	if log := w.log.String(); strings.Count(log, "going on without") != 3 {
		t.Errorf("it does not say that the keys cannot be read:\n%s", log)
	}
}

// TestAServiceThatHangsHoldsNobodyUp whose key was good: the question goes on beside.
func TestAServiceThatHangsHoldsNobodyUp(t *testing.T) {
	testenv.Slow(t)
	t.Parallel()
	w, r, public, _ := relayOfShop(t)
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
	questions := int64(time.Since(begin) / askTime) // for which there was time, each left alone for so long
	if n := w.times("/api/v2/key") - before; n > 2+questions {
		t.Errorf("a service that hangs is asked %d times", n)
	}
	if questions > 20 {
		t.Errorf("51 requests waited for it %d times", questions)
	}
}

package relay

import (
	"crypto/rand"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// TestKeysAreAskedAboutOnce and remembered, refusals for less long; many who ask at once
// are one question.
func TestKeysAreAskedAboutOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	elsewhere, gone := w.key(access.KindPublicSDK, "development"), w.key(access.KindPublicSDK, "production")
	w.revoke(gone)
	r := w.relay(Options{Keys: []string{secret}})
	must.Do(w, r.Await(t.Context()))
	var offset atomic.Int64
	began := time.Now() // the clock stands still, or a busy machine would have answers grow old
	r.keys.now = func() time.Time { return began.Add(time.Duration(offset.Load())) }
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
	w.revoke(public)
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
	t.Parallel()
	w, r, public, _ := relayOfShop(t)
	w.ask(r.Server, "GET", polls+someone, public, "")
	parsed := must.Get(access.ParseKey(public))(w)
	begin, limited := time.Now(), 0
	for range 3 * anonymous.Burst {
		made := must.Get(access.NewKey(rand.Reader, access.KindPublicSDK, parsed.Workspace(), parsed.Principal()))(w)
		switch got := w.ask(r.Server, "GET", polls+someone, made.Reveal(), ""); got.status {
		case 401, 503:
		case 429:
			limited++
		default:
			t.Fatalf("%s", got)
		}
	}
	most := float64(anonymous.Burst) + anonymous.PerSecond*time.Since(begin).Seconds() + 1 // however slow they come
	if asked := 3*anonymous.Burst - limited; float64(asked) > most {
		t.Errorf("%d of %d requests are asked about, not %.0f", asked, 3*anonymous.Burst, most)
	}
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.status != 200 {
		t.Errorf("a good key: %s", got)
	}
}

// TestTokensOfStreams: of keys that were shown here, of others, and of nobody.
func TestTokensOfStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret}})
	must.Do(w, r.Await(t.Context()))
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
	// Each stream is counted for its address and its key; secret keys have their own.
	few := w.relay(Options{Keys: []string{secret}, Streams: 8, Proxies: ratelimit.Proxies{netip.MustParsePrefix("127.0.0.0/8")}})
	must.Do(w, few.Await(t.Context()))
	for i, status := range []int{200, 200, 429, 200, 200, 429} {
		r := must.Get(http.NewRequestWithContext(t.Context(), "GET", few.URL+address, nil))(w)
		r.Header.Set("X-Forwarded-For", "10.0.0."+strconv.Itoa([]int{0, 0, 0, 1, 1, 2}[i]))
		got := must.Get(http.DefaultTransport.RoundTrip(r))(w)
		defer got.Body.Close()
		if got.StatusCode != status {
			t.Errorf("stream %d: %d, want %d", i, got.StatusCode, status)
		}
	}
	w.stream(few.Server, "/api/v2/sse/config", secret, "X-Forwarded-For", "10.0.0.0")
	if log := w.log.String(); strings.Contains(log, "token=") || strings.Contains(log, url.QueryEscape(address[len(address)-20:])) {
		t.Errorf("a token is in the log:\n%s", log)
	}
}

// TestOneKeyForAllBrowsers is asked of nobody.
func TestOneKeyForAllBrowsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	must.Do(w, r.Await(t.Context()))
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

// TestAClockThatIsSetBack makes no key good for longer.
func TestAClockThatIsSetBack(t *testing.T) {
	now := time.Now()
	k := &keys{now: func() time.Time { return now }}
	for age, want := range map[time.Duration]bool{-time.Hour: false, 0: true, goodFor - 1: true, goodFor: false} {
		if k.within(now.Add(-age), goodFor) != want {
			t.Errorf("%v ago: %v", age, !want)
		}
	}
}

// TestARelayWhoseKeyIsRevoked goes on serving what it has to the keys of others, each of
// which the service is asked about. Its own key opens nothing any more, for nobody.
func TestARelayWhoseKeyIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, later, revoked, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	must.Do(w, r.Await(t.Context()))
	var offset atomic.Int64
	r.keys.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	want := w.ask(r.Server, "GET", polls+someone, public, "")
	w.ask(r.Server, "GET", polls+someone, revoked, "")
	known, unseen := w.eventsOf(r.Server, public), w.eventsOf(w.front, w.key(access.KindPublicSDK, "production"))
	w.stream(r.Server, known, "")
	for _, key := range []string{secret, revoked} {
		w.revoke(key)
	}
	w.answers(gone) // or the service would end the relay's stream within a minute
	w.answers(nil)
	w.eventually("it is said", func() bool { return strings.Contains(w.log.String(), "401: ") })
	w.eventually("the service refuses the keys", func() bool {
		return w.ask(w.front, "GET", "/api/v2/key", secret, "").status == 401 && w.ask(w.front, "GET", "/api/v2/key", revoked, "").status == 401
	})
	w.patch("flags/timed/environments/production", `{"value":7}`)
	offset.Add(int64(2 * time.Minute)) // in which what was remembered has grown old
	if got := w.ask(r.Server, "GET", polls+someone, public, ""); got.String() != want.String() {
		t.Errorf("a good key: %s, want %s", got, want)
	}
	w.stream(r.Server, known, "")
	for name, tt := range map[string]struct {
		method, path, key string
		want              int
	}{
		"a good key that is new here":                 {"GET", polls + someone, later, 200},
		"a key that is revoked too":                   {"GET", polls + someone, revoked, 401},
		"the relay's own":                             {"GET", "/api/v2/configs", secret, 401},
		"the relay's own, for a stream":               {"HEAD", "/api/v2/sse/config", secret, 401},
		"a token of which nobody tells if it is good": {"HEAD", unseen, "", 503},
		"readiness": {"GET", "/readyz", "", 200},
	} {
		if got := w.ask(r.Server, tt.method, tt.path, tt.key, ""); got.status != tt.want {
			t.Errorf("%s: %d, want %d: %s", name, got.status, tt.want, got.body)
		}
	}
}

// TestATokenIsAskedAboutWithAnyKey of its workspace that is still good.
func TestATokenIsAskedAboutWithAnyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	revoked, good, public := w.key(access.KindSecretSDK, "production"), w.key(access.KindSecretSDK, "development"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{revoked, good}})
	must.Do(w, r.Await(t.Context()))
	w.revoke(revoked)
	w.eventually("the service refuses the key", func() bool { return w.ask(w.front, "GET", "/api/v2/key", revoked, "").status == 401 })
	address := w.eventsOf(w.front, public)
	if got := w.ask(r.Server, "HEAD", address, "", ""); got.status != 200 {
		t.Errorf("a good token: %d", got.status)
	}
	if got := w.ask(r.Server, "HEAD", address[:len(address)-4]+"AAAA", "", ""); got.status != 401 {
		t.Errorf("one that was made up: %d", got.status)
	}
}

// environments declares which the workspace has, as git does.
func (w *world) environments(text string) {
	w.Helper()
	bare := apiload.Git{Program: testenv.Program(w.T, "on Debian, apt-get install git", "git"), Dir: filepath.Join(w.dir, "repository.git")}
	file := filepath.Join(w.TempDir(), "svc.json")
	must.Do(w, os.WriteFile(file, []byte(`{"environments":`+text+`}`), 0o600))
	w.Setenv("GIT_INDEX_FILE", filepath.Join(w.TempDir(), "index"))
	bare.Run(w.T, "read-tree", "refs/heads/main")
	bare.Run(w.T, "update-index", "--cacheinfo", "100644,"+bare.Run(w.T, "hash-object", "-w", file)+",svc.json")
	commit := bare.Run(w.T, "commit-tree", bare.Run(w.T, "write-tree"), "-p", "refs/heads/main", "-m", "Change")
	bare.Run(w.T, "update-ref", "refs/heads/main", commit)
}

// TestAnEnvironmentThatIsArchived is served by no relay either, until it is back. Others
// of the same relay are.
func TestAnEnvironmentThatIsArchived(t *testing.T) {
	testenv.Slow(t)
	const archived = `["development",{"name":"production","archived":true}]`
	w := newWorld(t, shop)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "development")
	r := w.relay(Options{Keys: []string{secret, w.key(access.KindSecretSDK, "development")}, Cache: t.TempDir()})
	frontend := w.relay(Options{Keys: []string{secret}, FrontendKey: "web"})
	must.Do(w, r.Await(t.Context()))
	must.Do(w, frontend.Await(t.Context()))
	events := w.eventsOf(r.Server, public)
	unseen := w.eventsOf(w.front, w.key(access.KindPublicSDK, "development"))
	made := events[:len(events)-4] + "AAAA"
	statuses := func(want map[string]int) func() bool {
		return func() bool {
			for name, ask := range map[string]func() answer{
				"a browser":             func() answer { return w.ask(r.Server, "GET", polls+someone, public, "") },
				"OFREP":                 func() answer { return w.ask(r.Server, "POST", "/ofrep/v1/evaluate/flags", public, "{}") },
				"a stream":              func() answer { return w.ask(r.Server, "HEAD", events, "", "") },
				"the one key":           func() answer { return w.ask(frontend.Server, "GET", polls+someone, "web", "") },
				"a server":              func() answer { return w.ask(r.Server, "GET", "/api/v2/configs", secret, "") },
				"another environment":   func() answer { return w.ask(r.Server, "GET", polls+someone, other, "") },
				"a stream of the other": func() answer { return w.ask(r.Server, "HEAD", unseen, "", "") },
				"a made-up token":       func() answer { return w.ask(r.Server, "HEAD", made, "", "") },
			} {
				if got := ask(); want[name] != 0 && got.status != want[name] {
					return false
				}
			}
			return true
		}
	}
	gone := map[string]int{"a browser": 401, "OFREP": 401, "a stream": 401, "the one key": 401, "a server": 401,
		"another environment": 200, "a stream of the other": 200, "a made-up token": 401}
	w.environments(archived)
	w.eventually("the environment is refused", statuses(gone))
	w.environments(`["development","production"]`)
	w.eventually("it is served again", statuses(map[string]int{"a browser": 200, "OFREP": 200, "a stream": 200, "the one key": 200, "a server": 200, "another environment": 200}))
	w.environments(`["development","prod"]`)
	w.eventually("one that has another name now is refused", statuses(gone))
}

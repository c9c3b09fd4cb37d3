package relay

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
)

// TestARelayWhoseKeyIsRevoked goes on serving what it has to the keys of others, each of
// which the service is asked about. Its own key opens nothing any more, for nobody.
func TestARelayWhoseKeyIsRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop)
	public, later, revoked, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r := w.relay(Options{Keys: []string{secret}})
	w.must(r.Await(t.Context()))
	var offset atomic.Int64
	r.keys.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	want := w.ask(r.Server, "GET", polls+someone, public, "")
	w.ask(r.Server, "GET", polls+someone, revoked, "")
	known, unseen := w.eventsOf(r.Server, public), w.eventsOf(w.front, w.key(access.KindPublicSDK, "production"))
	w.stream(r.Server, known, "")
	for _, key := range []string{secret, revoked} {
		parsed, err := access.ParseKey(key)
		w.must(err)
		w.revoke(parsed.ID())
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
	w.must(r.Await(t.Context()))
	parsed, err := access.ParseKey(revoked)
	w.must(err)
	w.revoke(parsed.ID())
	w.eventually("the service refuses the key", func() bool { return w.ask(w.front, "GET", "/api/v2/key", revoked, "").status == 401 })
	address := w.eventsOf(w.front, public)
	if got := w.ask(r.Server, "HEAD", address, "", ""); got.status != 200 {
		t.Errorf("a good token: %d", got.status)
	}
	if got := w.ask(r.Server, "HEAD", address[:len(address)-4]+"AAAA", "", ""); got.status != 401 {
		t.Errorf("one that was made up: %d", got.status)
	}
}

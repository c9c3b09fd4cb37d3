package signin

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// hostile is an issuer that answers as a test wants it to.
type hostile struct {
	*httptest.Server
	key     *rsa.PrivateKey
	claims  map[string]any // beside those that are right
	sign    func(h *hostile, claims []byte) string
	answer  func(w http.ResponseWriter) bool // in the place of a token; nil: none
	nonce   string
	refresh string
	asked   int
	now     time.Time
}

func signed(h *hostile, algorithm jose.SignatureAlgorithm, key any, claims []byte) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "a"))
	if err != nil {
		panic(err)
	}
	made, err := signer.Sign(claims)
	if err != nil {
		panic(err)
	}
	return must1(made.CompactSerialize())
}

func must1[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newHostile(t *testing.T) *hostile {
	h := &hostile{key: must.Get(rsa.GenerateKey(rand.Reader, 2048))(t), now: time.Now(),
		sign: func(h *hostile, claims []byte) string { return signed(h, jose.RS256, h.key, claims) }}
	var mux http.ServeMux
	told := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		told(w, map[string]any{"issuer": h.URL, "authorization_endpoint": h.URL + "/auth", "token_endpoint": h.URL + "/token", "jwks_uri": h.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		told(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: h.key.Public(), KeyID: "a", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		h.asked++
		if h.answer != nil && h.answer(w) {
			return
		}
		claims := map[string]any{"iss": h.URL, "sub": "ada", "aud": "svc", "exp": h.now.Add(time.Minute).Unix(), "iat": h.now.Unix(), "nonce": h.nonce,
			"name": "Ada", "email": "ada@acme.example", "email_verified": true, "groups": []string{"platform"}}
		for name, value := range h.claims {
			if value == nil {
				delete(claims, name)
			} else {
				claims[name] = value
			}
		}
		told(w, map[string]any{"access_token": "a", "token_type": "Bearer", "refresh_token": h.refresh, "id_token": h.sign(h, must1(json.Marshal(claims)))})
	})
	h.Server = httptest.NewServer(&mux)
	t.Cleanup(h.Close)
	return h
}

// memory keeps the state of a registry.
type memory struct{ state access.State }

func (m *memory) Load(context.Context) (access.State, error) { return m.state, nil }
func (m *memory) Update(_ context.Context, edit func(access.State) (access.State, access.Entry, error)) (err error) {
	m.state, _, err = edit(m.state)
	return err
}
func (m *memory) Trail(context.Context, int) ([]access.Entry, error) { return nil, nil }
func (m *memory) Uses(context.Context) (map[access.ID]string, error) { return nil, nil }
func (m *memory) record(session access.Key) access.KeyRecord {
	i := slices.IndexFunc(m.state.Keys, func(k access.KeyRecord) bool { return k.ID == session.ID() })
	return m.state.Keys[i]
}

type world struct {
	*testing.T
	*hostile
	*memory
	provider *Provider
	registry *access.Registry
	kept     access.Key
	had      access.Key // of the browser
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, hostile: newHostile(t)}
	record := must.Get(access.NewWorkspace(rand.Reader, "shop"))(t)
	w.memory = &memory{access.NewState(record)}
	now := func() time.Time { return w.now }
	w.registry = access.NewRegistry(w.memory, rand.Reader, now)
	w.provider = New(Settings{Issuer: w.URL, ClientID: "svc", ClientSecret: "secret", RolesClaim: "groups", Roles: map[string][]string{"platform": {"engineer"}},
		PublicURL: "https://flags.example", Now: now, Logger: slog.New(slog.DiscardHandler),
		Registry: func(context.Context, string) (*access.Registry, error) { return w.registry, nil },
		Secret:   func(context.Context, string) ([]byte, error) { return record.Secret, nil }})
	return w
}

// begin begins a sign-in and returns the browser's cookie and the state.
func (w *world) begin(link access.ID) (*http.Cookie, string) {
	w.Helper()
	address, cookie, err := w.provider.Begin(w.Context(), w.state.Workspace.ID, link)
	must.Do(w, err)
	query := must.Get(url.Parse(address))(w).Query()
	if query.Get("code_challenge_method") != "S256" || query.Get("redirect_uri") != "https://flags.example"+CallbackPath {
		w.Fatalf("leads to %s", address)
	}
	w.nonce = query.Get("nonce")
	return cookie, query.Get("state")
}

// back is the browser that comes back, and where it is led.
func (w *world) back(cookie *http.Cookie, query string) string {
	w.Helper()
	w.kept = access.Key{}
	r := httptest.NewRequest("GET", CallbackPath+"?"+query, nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	answer := httptest.NewRecorder()
	w.provider.Callback(func(*http.Request) access.Key { return w.had }, func(_ http.Header, session access.Key) { w.kept = session }).ServeHTTP(answer, r)
	to, ok := strings.CutPrefix(answer.Header().Get("Location"), "https://flags.example/console/")
	if !ok || (w.kept.Kind() == "") != (to != "") {
		w.Fatalf("leads to %q, with a session: %t", answer.Header().Get("Location"), w.kept.Kind() != "")
	}
	return strings.TrimPrefix(to, "#sign-in-failed=")
}

func TestWhatASignInIsRefusedFor(t *testing.T) {
	w := newWorld(t)
	public := must.Get(json.Marshal(jose.JSONWebKey{Key: w.key.Public()}))(t)
	other := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, test := range map[string]struct {
		claims map[string]any
		sign   func(h *hostile, claims []byte) string
		answer func(w http.ResponseWriter) bool
		want   string
	}{
		"as it should be":        {},
		"for another client":     {claims: map[string]any{"aud": "other"}, want: "denied"},
		"for two":                {claims: map[string]any{"aud": []string{"svc", "other"}}, want: "denied"},
		"for two, and for us":    {claims: map[string]any{"aud": []string{"svc", "other"}, "azp": "svc"}},
		"of another issuer":      {claims: map[string]any{"iss": "https://other.example"}, want: "denied"},
		"of another sign-in":     {claims: map[string]any{"nonce": "other"}, want: "denied"},
		"of no sign-in":          {claims: map[string]any{"nonce": nil}, want: "denied"},
		"of yesterday":           {claims: map[string]any{"exp": w.now.Add(-time.Hour).Unix()}, want: "denied"},
		"in no group":            {claims: map[string]any{"sub": "eve", "groups": []string{}}, want: "uninvited"},
		"in a group by one text": {claims: map[string]any{"groups": "platform"}},
		"groups of another kind": {claims: map[string]any{"sub": "eve", "groups": map[string]any{"platform": true}}, want: "uninvited"},
		"signed by nobody": {sign: func(_ *hostile, claims []byte) string {
			return encode(`{"alg":"none"}`) + "." + encode(string(claims)) + "."
		}, want: "denied"},
		"signed by HMAC":    {sign: func(h *hostile, claims []byte) string { return signed(h, jose.HS256, public, claims) }, want: "denied"},
		"signed by another": {sign: func(h *hostile, claims []byte) string { return signed(h, jose.RS256, other, claims) }, want: "denied"},
		"no token":          {sign: func(*hostile, []byte) string { return "" }, want: "denied"},
		"refused":           {answer: func(w http.ResponseWriter) bool { http.Error(w, `{"error":"invalid_grant"}`, 400); return true }, want: "denied"},
		"away":              {answer: func(w http.ResponseWriter) bool { http.Error(w, "", 503); return true }, want: "away"},
		"endless": {answer: func(w http.ResponseWriter) bool {
			for range 10 {
				_, _ = w.Write(make([]byte, 1<<20))
			}
			return true
		}, want: "away"},
	} {
		t.Run(name, func(t *testing.T) {
			w.T, w.hostile.claims, w.hostile.answer = t, test.claims, test.answer
			if w.sign = test.sign; w.sign == nil {
				w.sign = func(h *hostile, claims []byte) string { return signed(h, jose.RS256, h.key, claims) }
			}
			cookie, state := w.begin("")
			if got := w.back(cookie, "code=c&state="+state); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestACodeIsTakenOfTheBrowserThatBegan(t *testing.T) {
	w := newWorld(t)
	mine, state := w.begin("")
	theirs, _ := w.begin("")
	for name, test := range map[string]struct {
		cookie *http.Cookie
		query  string
		want   string
	}{
		"no cookie":            {nil, "code=c&state=" + state, "expired"},
		"another's cookie":     {theirs, "code=c&state=" + state, "expired"},
		"no state":             {mine, "code=c", "expired"},
		"a made-up cookie":     {&http.Cookie{Name: BeginCookie, Value: w.state.Workspace.ID + ".e30"}, "code=c&state=", "expired"},
		"the issuer refuses":   {mine, "error=access_denied&state=" + state, "denied"},
		"an injected fragment": {mine, "code=c&state=" + state + "%0d%0aSet-Cookie:x", "expired"},
	} {
		if got := w.back(test.cookie, test.query); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	w.now = w.now.Add(beginFor)
	if got := w.back(mine, "code=c&state="+state); got != "expired" {
		t.Errorf("after ten minutes: %q", got)
	}
	if w.asked != 0 {
		t.Errorf("the issuer was asked %d times", w.asked)
	}
}

func TestLinking(t *testing.T) {
	w := newWorld(t)
	key, ada, err := w.registry.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"admin"}})
	must.Do(t, err)
	cookie, state := w.begin("")
	if got := w.back(cookie, "code=c&state="+state); got != "" || w.kept.Principal() == key.Principal() {
		t.Errorf("%q; an e-mail address has linked: %t", got, w.kept.Principal() == key.Principal())
	}
	must.Do(t, w.registry.SetIdentity(t.Context(), w.kept.Principal(), access.Identity{}))
	cookie, state = w.begin(ada.ID)
	w.claims = map[string]any{"name": "Ada Lovelace", "email": "lovelace@acme.example"}
	_ = w.backLinked(cookie, "code=c&state="+state)
	if i := slices.IndexFunc(w.state.Principals, func(p access.Principal) bool { return p.ID == ada.ID }); w.state.Principals[i].Name != "Ada Lovelace" || w.state.Principals[i].Email != "lovelace@acme.example" {
		t.Errorf("who has linked an account is %+v", w.state.Principals[i])
	}
	cookie, state = w.begin("")
	if got := w.back(cookie, "code=c&state="+state); got != "" || w.kept.Principal() != ada.ID {
		t.Errorf("%q, as %s", got, w.kept.Principal())
	}
}

// TestASignInEndsTheSessionBefore, of whomever it is, unless it links its person.
func TestASignInEndsTheSessionBefore(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		cookie, state := w.begin("")
		if got := w.back(cookie, "code=c&state="+state); got != "" {
			t.Fatal(got)
		}
		if before := w.had; before.Kind() != "" {
			w.dead(before)
		}
		w.had = w.kept
	}
	cookie, _ := w.begin("")
	if got := w.back(cookie, "code=c&state=another"); got != "expired" || w.record(w.had).LiveAt(w.now) != nil {
		t.Errorf("%q has ended the session", got)
	}
	cookie, state := w.begin(w.had.Principal())
	_ = w.backLinked(cookie, "code=c&state="+state)
	if err := w.record(w.had).LiveAt(w.now); err != nil {
		t.Errorf("linked, and signed out: %v", err)
	}
}

// dead demands that a session has ended.
func (w *world) dead(session access.Key) {
	w.Helper()
	for _, k := range w.state.Keys {
		if k.Admits(session, w.now) == nil {
			w.Errorf("the session %s is alive", session.ID())
		}
	}
}

// backLinked is back for a browser that has a session already.
func (w *world) backLinked(cookie *http.Cookie, query string) string {
	r := httptest.NewRequest("GET", CallbackPath+"?"+query, nil)
	r.AddCookie(cookie)
	answer := httptest.NewRecorder()
	w.provider.Callback(func(*http.Request) access.Key { return w.had }, func(http.Header, access.Key) { w.Error("a new session") }).ServeHTTP(answer, r)
	return answer.Header().Get("Location")
}

func TestClaimsAreReadAnew(t *testing.T) {
	w := newWorld(t)
	w.hostile.refresh = "first"
	cookie, state := w.begin("")
	if got := w.back(cookie, "code=c&state="+state); got != "" {
		t.Fatal(got)
	}
	session := w.kept
	again := func() (bool, error) { return w.provider.Refresh(t.Context(), session, w.record(session)) }
	if changed, err := again(); changed || err != nil || w.asked != 1 {
		t.Errorf("at once: %t, %v", changed, err)
	}
	w.now, w.hostile.refresh = w.now.Add(refreshAfter), "second"
	w.hostile.claims = map[string]any{"groups": []string{}}
	stale := w.record(session)
	changed, err := again()
	if p := w.state.Principals[0]; !changed || err != nil || len(p.Claimed) != 0 {
		t.Errorf("a role that was taken away: %t, %v, %+v", changed, err, p)
	}
	if changed, err := w.provider.Refresh(t.Context(), session, stale); changed || err != nil || w.asked != 2 {
		t.Errorf("another instance, at the same time: %t, %v, asked %d times", changed, err, w.asked)
	}
	if kept := must.Get(session.Unseal(w.record(session).Refresh))(t); kept != "second" {
		t.Errorf("kept %q", kept)
	}
	w.now = w.now.Add(refreshAfter)
	w.hostile.answer = func(w http.ResponseWriter) bool { http.Error(w, "", 503); return true }
	if _, err := again(); err != nil || w.record(session).LiveAt(w.now) != nil {
		t.Errorf("an issuer that is away: %v", err)
	}
	w.now = w.now.Add(refreshAfter)
	w.hostile.answer = func(w http.ResponseWriter) bool { http.Error(w, `{"error":"invalid_grant"}`, 400); return true }
	if _, err := again(); err == nil || !errors.Is(w.record(session).LiveAt(w.now), access.ErrKeyRevoked) {
		t.Errorf("an issuer that refuses: %v, %v", err, w.record(session).LiveAt(w.now))
	}
}

// TestTheConsolesAddressNamesTheWorkspace where there are several, so that who was refused can
// try again there.
func TestTheConsolesAddressNamesTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.provider.settings.Shared = true
	lead := func(query string) string {
		cookie, state := w.begin("")
		r := httptest.NewRequest("GET", CallbackPath+"?"+query+"&state="+state, nil)
		r.AddCookie(cookie)
		answer := httptest.NewRecorder()
		w.provider.Callback(func(*http.Request) access.Key { return w.had }, func(http.Header, access.Key) {}).ServeHTTP(answer, r)
		return answer.Header().Get("Location")
	}
	at := "https://flags.example/console/?workspace=" + w.state.Workspace.ID
	for query, want := range map[string]string{"code=c": at, "error=access_denied": at + "#sign-in-failed=denied"} {
		if got := lead(query); got != want {
			t.Errorf("%s leads to %s, want %s", query, got, want)
		}
	}
}

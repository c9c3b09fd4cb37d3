// Package signin signs people in with a provider of OpenID Connect: the authorization code
// flow with PKCE, on the server's side.
//
// What must stay true:
//
//   - A person is known by issuer and subject alone. An e-mail address links nobody, and lets
//     in whom nobody has invited only where it is verified and of a domain that is allowed.
//   - What a sign-in began with (state, nonce, PKCE's verifier) is in a cookie of the browser
//     that began it, sealed, for ten minutes: a code that comes to another browser is refused.
//   - Redirects lead to the public address alone.
//   - Claims are read at sign-in, and at most every 15 minutes after it where the provider
//     gives a refresh token: one that is refused ends the session, an issuer that is away does not.
//   - An issuer is a stranger: what it answers is bounded in size and time, and its words reach
//     no page.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc" // discovery, and what makes an ID token good
	"golang.org/x/oauth2"               // the code flow

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
)

// Settings say with whom people sign in, and what follows from what it says of them.
type Settings struct {
	Issuer       string `json:"issuer"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret"`
	// Scopes are asked for beside openid, profile and email.
	Scopes []string `json:"scopes"`
	// RolesClaim is the claim that holds a person's groups, with full stops between the names
	// of nested ones; Roles are what each of its values gives.
	RolesClaim string              `json:"rolesClaim"`
	Roles      map[string][]string `json:"roles"`
	// Domains are those of e-mail addresses that newcomers may have.
	Domains []string `json:"allowedDomains"`
	// PublicURL is where people open the console, without /console.
	PublicURL string `json:"-"`
	// Shared says that people of several workspaces sign in there: the console's address names theirs.
	Shared bool             `json:"-"`
	Now    func() time.Time `json:"-"`
	Logger *slog.Logger     `json:"-"`
	// Registry is that of a workspace.
	Registry func(ctx context.Context, workspace string) (*access.Registry, error) `json:"-"`
	// Secret is a workspace's, which seals what a sign-in began with.
	Secret func(ctx context.Context, workspace string) ([]byte, error) `json:"-"`
}

// Provider is the issuer, as far as it is known.
type Provider struct {
	settings Settings
	client   *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil until it has answered
}

const (
	beginFor     = 10 * time.Minute
	refreshAfter = 15 * time.Minute
	askFor       = 10 * time.Second
	maxAnswer    = 1 << 20
	// BeginCookie is that of a sign-in which has begun.
	BeginCookie = "__Host-svc-sign-in"
	purpose     = "svc: a sign-in that has begun"
)

// New makes no request.
func New(s Settings) *Provider {
	return &Provider{settings: s, client: &http.Client{Timeout: askFor, Transport: bounded{http.DefaultTransport}}}
}

// bounded bounds what is read of an answer.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// provider asks the issuer what it is, unless it has answered before.
func (p *Provider) provider(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// Its keys are asked for later, by others: nobody's context ends that.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.settings.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	p.found = found
	return found, nil
}

func (p *Provider) config(provider *oidc.Provider) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID, "profile", "email"}, p.settings.Scopes...)
	var offers struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := provider.Claims(&offers); err == nil && slices.Contains(offers.Scopes, oidc.ScopeOfflineAccess) {
		scopes = append(scopes, oidc.ScopeOfflineAccess)
	}
	return &oauth2.Config{ClientID: p.settings.ClientID, ClientSecret: p.settings.ClientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: p.settings.PublicURL + CallbackPath, Scopes: scopes}
}

// CallbackPath is where the provider sends people back to.
const CallbackPath = "/console/api/oidc/callback"

// begun is a sign-in that has begun in a browser.
type begun struct {
	State     string    `json:"s"`
	Nonce     string    `json:"n"`
	Verifier  string    `json:"v"`
	Workspace string    `json:"w"`
	Until     time.Time `json:"u"`
	// Link is the principal whose session it was begun with, to sign in as them from now on.
	Link access.ID `json:"l,omitempty"`
}

// Begin begins a sign-in to a workspace and returns the address at the provider. With the id
// of a principal it links them to who signs in.
func (p *Provider) Begin(ctx context.Context, workspace string, link access.ID) (address string, cookie *http.Cookie, err error) {
	provider, err := p.provider(ctx)
	if err != nil {
		return "", nil, fault.New(fault.Unavailable, "the provider that people sign in with does not answer").Because(err)
	}
	b := begun{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Workspace: workspace, Until: p.settings.Now().Add(beginFor), Link: link}
	sealed, err := p.seal(ctx, b)
	if err != nil {
		return "", nil, err
	}
	address = p.config(provider).AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier))
	return address, beginCookie(sealed, int(beginFor.Seconds())), nil
}

func beginCookie(value string, seconds int) *http.Cookie {
	return &http.Cookie{Name: BeginCookie, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: seconds}
}

func (p *Provider) seal(ctx context.Context, b begun) (string, error) {
	secret, err := p.settings.Secret(ctx, b.Workspace)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return "", err
	}
	sealed, err := access.Seal(secret, purpose, b.Workspace, string(text))
	return b.Workspace + "." + base64.RawURLEncoding.EncodeToString([]byte(sealed)), err
}

func (p *Provider) unseal(ctx context.Context, text string) (b begun, err error) {
	workspace, sealed, _ := strings.Cut(text, ".")
	if _, err := access.ParseID(workspace); err != nil {
		return b, errExpired
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return b, errExpired
	}
	secret, err := p.settings.Secret(ctx, workspace)
	if err != nil {
		return b, err
	}
	open, err := access.Unseal(secret, purpose, workspace, string(raw))
	if err == nil {
		err = json.Unmarshal([]byte(open), &b)
	}
	if err != nil || b.Workspace != workspace || !p.settings.Now().Before(b.Until) {
		return begun{}, errExpired
	}
	return b, nil
}

// Why a sign-in failed. The page knows each by the word that stands for it.
var (
	errAway    = errors.New("the issuer is away")
	errExpired = errors.New("the sign-in was not begun in this browser, or too long ago")
	errDenied  = errors.New("the issuer has refused")
)

func word(err error) string {
	switch {
	case errors.Is(err, errExpired):
		return "expired"
	case errors.Is(err, errDenied):
		return "denied"
	case errors.Is(err, access.ErrNotInvited):
		return "uninvited"
	case errors.Is(err, access.ErrDisabled):
		return "disabled"
	case errors.Is(err, access.ErrLinked):
		return "linked"
	case errors.Is(err, errAway):
		return "away"
	}
	return "failed"
}

// Callback takes people whom the provider sends back, and leads them to the console. Had is
// the session that a browser has, and keep has it keep another.
func (p *Provider) Callback(had func(*http.Request) access.Key, keep func(http.Header, access.Key)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if r.Method != http.MethodGet {
			header.Set("Allow", "GET")
			http.Error(w, "the provider sends people here, by GET", http.StatusMethodNotAllowed)
			return
		}
		header.Add("Set-Cookie", beginCookie("", -1).String())
		session, workspace, err := p.complete(r, had(r))
		to := p.settings.PublicURL + "/console/"
		if p.settings.Shared && workspace != "" {
			to += "?workspace=" + workspace
		}
		if err != nil {
			p.settings.Logger.Warn("a sign-in failed", "cause", err)
			to += "#sign-in-failed=" + word(err)
		} else if session.Kind() != "" {
			keep(header, session)
		}
		header.Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
}

// complete ends a sign-in to a workspace, which is told where it fails too. Where it linked
// somebody who has a session, that goes on.
func (p *Provider) complete(r *http.Request, before access.Key) (session access.Key, workspace string, err error) {
	cookie, err := r.Cookie(BeginCookie)
	if err != nil {
		return session, "", errExpired
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*askFor)
	defer cancel()
	b, err := p.unseal(ctx, cookie.Value)
	if err == nil {
		session, err = p.arrive(ctx, b, r.URL.Query(), before)
	}
	return session, b.Workspace, err
}

func (p *Provider) arrive(ctx context.Context, b begun, query url.Values, before access.Key) (access.Key, error) {
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(b.State)) != 1 {
		return access.Key{}, errExpired
	}
	if query.Get("code") == "" {
		return access.Key{}, errDenied
	}
	provider, err := p.provider(ctx)
	if err != nil {
		return access.Key{}, err
	}
	config := p.config(provider)
	token, err := config.Exchange(oidc.ClientContext(ctx, p.client), query.Get("code"), oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return access.Key{}, asked(err)
	}
	who, err := p.person(ctx, provider, config, token, b.Nonce)
	if err != nil {
		return access.Key{}, err
	}
	registry, err := p.settings.Registry(ctx, b.Workspace)
	if err != nil {
		return access.Key{}, err
	}
	if b.Link != "" {
		return access.Key{}, registry.By(string(b.Link)).Link(ctx, b.Link, who)
	}
	who.Refresh, who.Before = token.RefreshToken, before
	session, _, err := registry.Arrive(ctx, who)
	if other := string(before.Workspace()); err == nil && other != "" && other != b.Workspace {
		if elsewhere, err := p.settings.Registry(ctx, other); err == nil {
			_ = elsewhere.EndSession(ctx, before) // else it ends by itself
		}
	}
	return session, err
}

// asked tells an issuer that refuses from one that is away.
func asked(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 && refused.Response.StatusCode != http.StatusTooManyRequests {
		return fmt.Errorf("%w: %s", errDenied, refused.ErrorCode)
	}
	return fmt.Errorf("%w: %w", errAway, err)
}

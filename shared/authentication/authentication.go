// Package authentication says whose request it is, the same way for keys of the
// REST API and for SDK keys, and counts requests against the limits of keys and
// addresses.
//
// What must stay true:
//
//   - A request costs one read of the ledger; none when the text of its key
//     alone is reason to refuse it, or a limit is.
//   - The order of refusals: 429 for a key that this process has seen to be
//     good, 401, 429 for one that is new here. What the workspace has against
//     the request comes after that: see control.Service.Open.
//   - No refusal repeats any of what was sent.
package authentication

import (
	"net/http"
	"net/netip"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
)

// Keys are the kinds of key that some endpoints take.
type Keys struct {
	Kinds []access.Kind
	// Wanted says so, as a sentence of a refusal.
	Wanted string
}

// names are how the kinds of key are spoken of.
var names = map[access.Kind]string{
	access.KindPublicSDK: "a public SDK key", access.KindSecretSDK: "a secret SDK key, which must not leave a server",
	access.KindUser: "a user key of the REST API", access.KindServiceAccount: "a service-account key of the REST API",
	access.KindGuard:   "a guard key, for alerts alone",
	access.KindSession: "a session of the console", access.KindOneTime: "a one-time key, for signing in",
}

// Parse reads a key. The kind stands in its text, so one of another kind is
// refused without asking anybody, with a fault of the kind Unauthorized.
func (k Keys) Parse(text string) (access.Key, error) {
	key, err := access.ParseKey(text)
	if err != nil {
		return access.Key{}, fault.New(fault.Unauthorized, "%v; %s", err, k.Wanted).Because(err)
	}
	if !slices.Contains(k.Kinds, key.Kind()) {
		return access.Key{}, fault.New(fault.Unauthorized, "%s; this is %s", k.Wanted, names[key.Kind()])
	}
	return key, nil
}

// Guard authenticates requests and limits them.
type Guard struct {
	Service *control.Service
	// Keys has the limit of each key, and of addresses that show no good one.
	Keys *ratelimit.Limiter
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
}

// Authenticate says who sent a request with the text of a key, or with one that
// could not be read from the request. Its error is a fault of the kinds
// RateLimited, Unauthorized and Unavailable. A public key is in everybody's
// hands, so each address has a share of its own in it. What has landed under an
// Idempotency-Key, "" for none, is looked for in the same read.
func (g Guard) Authenticate(r *http.Request, keys Keys, text string, unreadable error, idempotencyKey string) (control.Caller, error) {
	key, address := access.Key{}, g.Proxies.Address(r)
	if unreadable == nil {
		key, unreadable = keys.Parse(text)
	}
	share := address
	if unreadable == nil && key.Kind() != access.KindPublicSDK {
		share = netip.Addr{}
	}
	return g.admit(ratelimit.KeyID(text, share), address, unreadable, func() (control.Caller, error) {
		return g.Service.Authenticate(r.Context(), key, idempotencyKey)
	})
}

// admit authenticates a request that the limits leave, unless the text of its key shows
// that it is none.
func (g Guard) admit(key ratelimit.ID, address netip.Addr, unreadable error, authenticate func() (control.Caller, error)) (caller control.Caller, err error) {
	visit, err := g.Keys.Admit(key, address, unreadable == nil)
	if err != nil {
		return control.Caller{}, err
	}
	if err = unreadable; err == nil {
		caller, err = authenticate()
	}
	return caller, visit.Authenticated(err)
}

// AuthenticateToken is Authenticate for the text of a token that stands for a
// public key.
func (g Guard) AuthenticateToken(r *http.Request, text string) (control.Caller, error) {
	address := g.Proxies.Address(r)
	token, unreadable := access.ParseToken(text)
	if unreadable != nil {
		unreadable = fault.New(fault.Unauthorized, "%v", unreadable).Because(unreadable)
	}
	return g.admit(ratelimit.KeyID(text, address), address, unreadable, func() (control.Caller, error) {
		return g.Service.AuthenticateToken(r.Context(), token)
	})
}

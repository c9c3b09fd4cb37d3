package sdkapi

import (
	"net/http"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/workspace"
)

// takes is which key an endpoint takes, and how it is sent.
type takes struct {
	authentication.Keys
	how string
}

const basic = "send it as Authorization: Basic base64(1:<key>)"

var keys = map[endpoints.Keys]takes{
	endpoints.PublicSDK: {authentication.Keys{Kinds: []access.Kind{access.KindPublicSDK},
		Wanted: "evaluation for browsers and OpenFeature takes a public SDK key (svc_pk_…)"}, basic + " (OFREP also takes Bearer and X-API-Key)"},
	endpoints.SecretSDK: {authentication.Keys{Kinds: []access.Kind{access.KindSecretSDK},
		Wanted: "the documents of an environment take a secret SDK key (svc_sk_…)"}, basic},
	endpoints.AnySDK: {authentication.Keys{Kinds: []access.Kind{access.KindPublicSDK, access.KindSecretSDK},
		Wanted: "telemetry takes an SDK key (svc_pk_… or svc_sk_…)"}, basic},
}

// guard limits the requests to an endpoint.
func (o Options) guard(e endpoints.Endpoint) authentication.Guard {
	rate := map[endpoints.Limit]ratelimit.Rate{endpoints.Polls: o.Polls, endpoints.Telemetry: o.Telemetry}[e.Limit]
	return authentication.Guard{Service: o.Service, Keys: ratelimit.New(rate, o.Anonymous, o.Now), Proxies: o.Proxies}
}

// open authenticates a request by the text of its key, "" for none, and opens
// what its environment serves.
func (o Options) open(g authentication.Guard, r *http.Request, e endpoints.Endpoint, text string) (*control.Delivery, error) {
	caller, err := o.authenticate(g, r, e, text)
	if err != nil {
		return nil, err
	}
	return o.Service.Deliver(caller)
}

func (o Options) authenticate(g authentication.Guard, r *http.Request, e endpoints.Endpoint, text string) (control.Caller, error) {
	takes := keys[e.Keys]
	var unreadable error
	if text == "" {
		unreadable = takes.missing()
	}
	return g.Authenticate(r, takes.Keys, text, unreadable, "")
}

// missing is the refusal of a request without a key.
func (t takes) missing() error {
	return fault.New(fault.Unauthorized, "no key was sent in the form that is read here: %s; %s", t.Wanted, t.how)
}

// ReadKey reads the text of a key, "" for none, if it is of a kind that an endpoint
// takes. The error is a fault of the kind Unauthorized.
func ReadKey(e endpoints.Endpoint, text string) (access.Key, error) {
	if text == "" {
		return access.Key{}, keys[e.Keys].missing()
	}
	return keys[e.Keys].Parse(text)
}

// refusedEnvironment refuses a key whose environment is gone from the
// workspace: the default rules would be served in its place.
func refusedEnvironment(ws *workspace.Workspace, name string) error {
	e, known := ws.Environment(name)
	why := "has"
	switch {
	case known && e.Archived:
		why = "has archived"
	case known || !ws.Declared:
		return nil
	default:
		why = "does not have"
	}
	return fault.New(fault.Unauthorized, "the key reads the environment %q, which the workspace %s; use an SDK key of another environment", name, why).
		With(map[string]any{"code": EnvironmentGone})
}

// EnvironmentGone is the code of a refusal of a key that is good, but whose environment is
// archived or not there any more.
const EnvironmentGone = "ENVIRONMENT_GONE"

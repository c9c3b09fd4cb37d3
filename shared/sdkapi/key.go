package sdkapi

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/workspace"
)

// need is which key an endpoint takes.
type need struct {
	what  string // the endpoint, as a sentence begins with it
	kinds []access.Kind
	how   string
}

const basic = "send it as Authorization: Basic base64(1:<key>)"

var (
	publicKey = need{"evaluation for browsers and OpenFeature takes a public SDK key (svc_pk_…)", []access.Kind{access.KindPublicSDK},
		basic + " (OFREP also takes Bearer and X-API-Key)"}
	secretKey = need{"the documents of an environment take a secret SDK key (svc_sk_…)", []access.Kind{access.KindSecretSDK}, basic}
	sdkKey    = need{"telemetry takes an SDK key (svc_pk_… or svc_sk_…)", []access.Kind{access.KindPublicSDK, access.KindSecretSDK}, basic}
)

// words are how the kinds of key are spoken of.
var words = map[access.Kind]string{
	access.KindPublicSDK: "a public SDK key", access.KindSecretSDK: "a secret SDK key, which must not leave a server",
	access.KindUser: "a user key of the REST API", access.KindServiceAccount: "a service-account key of the REST API",
}

// gate lets keys in, as many times as their rate admits.
type gate struct {
	plane   *control.Service
	limiter *ratelimit.Limiter
}

func newGate(o Options, rate ratelimit.Rate) gate {
	return gate{o.Plane, ratelimit.New(rate, o.Strangers, o.Now)}
}

// enter lets a key in that is of a kind that is needed. A public key is in
// everybody's hands, so each address has a share of its own in it.
func (g gate) enter(ctx context.Context, need need, text string) (d *control.Delivery, err error) {
	address := addressOf(ctx)
	key, unreadable := need.read(text)
	share := address
	if unreadable == nil && key.Kind() == access.KindSecretSDK {
		share = netip.Addr{}
	}
	err = g.limiter.Admit(ctx, ratelimit.KeyID(text, share), address, unreadable == nil, func(ctx context.Context) error {
		if unreadable != nil {
			return unreadable
		}
		var err error
		d, err = g.plane.Deliver(ctx, text)
		return err
	})
	return d, err
}

// read reads a key. The kind stands in its text, so a wrong one is refused
// without asking anybody.
func (n need) read(text string) (access.Key, error) {
	if text == "" {
		return access.Key{}, fault.New(fault.Unauthorized, "no key was sent in the form that is read here: %s; %s", n.what, n.how)
	}
	key, err := access.ParseKey(text)
	if err != nil {
		return access.Key{}, fault.New(fault.Unauthorized, "%v; %s", err, n.what).Because(err)
	}
	if !slices.Contains(n.kinds, key.Kind()) {
		return access.Key{}, fault.New(fault.Unauthorized, "%s; this is %s", n.what, words[key.Kind()])
	}
	return key, nil
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
	return fault.New(fault.Unauthorized, "%s", fmt.Sprintf("the key reads the environment %q, which the workspace %s; use an SDK key of another environment", name, why))
}

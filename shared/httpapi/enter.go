package httpapi

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
)

// enter lets a request in: 429, 401, 429, 503.
func (c *call) enter() (session *control.Session, err error) {
	key, unreadable := bearer(c.request.Header)
	id := ratelimit.KeyID(key, netip.Addr{})
	_, malformed := access.ParseKey(key)
	err = c.server.limiter.Admit(c.request.Context(), id, c.address(), malformed == nil, func(ctx context.Context) error {
		if unreadable != nil {
			return unreadable
		}
		var err error
		session, err = c.server.options.Plane.Enter(ctx, key)
		return err
	})
	return session, err
}

// stranger counts a request that needs no key, or gets no further than its
// path.
func (c *call) stranger() error { return c.server.options.Strangers.Admit(c.address()) }

func (c *call) address() netip.Addr { return c.server.options.Proxies.Address(c.request) }

const wanted = "send the header Authorization: Bearer <API key>, with a key that starts with svc_uk_ or svc_sa_"

// bearer takes the key out of a request's header. No refusal repeats any of
// what was sent.
func bearer(header http.Header) (string, error) {
	lines := header.Values("Authorization")
	switch {
	case len(lines) > 1:
		return "", fault.New(fault.Unauthorized, "there are several Authorization headers; %s", wanted)
	case len(lines) == 0 && header.Get("Cookie") != "":
		return "", fault.New(fault.Unauthorized, "cookies are not accepted here; %s", wanted)
	case len(lines) == 0 || strings.TrimSpace(lines[0]) == "":
		return "", fault.New(fault.Unauthorized, "no key: %s", wanted)
	}
	scheme, key, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	key = strings.TrimLeft(key, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", fault.New(fault.Unauthorized, "the scheme of the Authorization header is not Bearer; %s", wanted)
	case key == "":
		return "", fault.New(fault.Unauthorized, "there is no key behind Bearer; %s", wanted)
	case strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2:
		return "", fault.New(fault.Unauthorized, "JSON web tokens are not accepted here; %s", wanted)
	}
	return key, nil
}

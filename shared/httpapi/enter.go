package httpapi

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
)

// enter lets a request in: 429, 401, 429, 503.
func (c *call) enter() (*control.Session, error) {
	key, err := bearer(c.request.Header)
	if err != nil {
		return nil, err
	}
	v := &visit{limiter: c.server.limiter, key: sha256.Sum256([]byte(key))}
	if err = v.countKnown(); err == nil {
		var session *control.Session
		session, err = c.server.options.Plane.Enter(context.WithValue(c.request.Context(), visitKey{}, v), key)
		if err == nil {
			err = v.count() // for a plane that was not told of Admitted
		}
		if err == nil {
			return session, nil
		}
	}
	if v.wait > 0 {
		c.header.Set("Retry-After", strconv.Itoa(v.seconds()))
	}
	return nil, err
}

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

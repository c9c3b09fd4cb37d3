package httpapi

import (
	"net/http"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/fault"
)

// managementKeys are those of the REST API.
var managementKeys = authentication.Keys{
	Kinds:  []access.Kind{access.KindUser, access.KindServiceAccount},
	Wanted: "the REST API takes a user key (svc_uk_...) or a service-account key (svc_sa_...)",
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

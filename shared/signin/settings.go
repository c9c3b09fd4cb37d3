package signin

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/settings"
)

// Told is as much of settings as administrators are shown.
func (s *Settings) Told() settings.SignIn {
	return settings.SignIn{Issuer: s.Issuer, ClientID: s.ClientID, Callback: s.PublicURL + CallbackPath, Scopes: s.Scopes, RolesClaim: s.RolesClaim, Roles: s.Roles, Domains: s.Domains}
}

// Read reads settings from JSON, such as
//
//	{"issuer": "https://accounts.example.com", "clientId": "svc", "clientSecret": "…",
//	 "rolesClaim": "groups", "roles": {"platform-team": ["engineer"]}, "allowedDomains": ["acme.example"], "scopes": ["groups"]}
//
// No error repeats a value.
func Read(text string) (s Settings, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil || decoder.More() {
		return Settings{}, fmt.Errorf("it is not JSON with issuer, clientId, clientSecret, rolesClaim, roles, allowedDomains and scopes alone")
	}
	return s, nil
}

// Check says what is wrong with settings, each of which who gives them calls by a name of their
// own: issuer, clientId, clientSecret, rolesClaim, roles, allowedDomains, publicUrl.
func (s *Settings) Check(name func(string) string) error {
	wrong := func(format string, names ...string) error {
		called := make([]any, len(names))
		for i, n := range names {
			called[i] = name(n)
		}
		return fmt.Errorf(format, called...)
	}
	switch {
	case !private(s.Issuer):
		return wrong("%s must be an https:// address", "issuer")
	case s.ClientID == "" || s.ClientSecret == "":
		return wrong("%s needs %s and %s, as the issuer has them for this service", "issuer", "clientId", "clientSecret")
	case s.PublicURL == "":
		return wrong("%s needs %s: the issuer sends people back to <public URL>"+CallbackPath, "issuer", "publicUrl")
	case !private(s.PublicURL):
		return wrong("%s needs a %s that begins with https://: sessions do not cross a network unencrypted", "issuer", "publicUrl")
	case len(s.Roles) > 0 && s.RolesClaim == "":
		return wrong("%s needs %s, which says where a person's groups stand", "roles", "rolesClaim")
	case s.RolesClaim != "" && len(s.Roles) == 0:
		return wrong("%s needs %s, which says what role a value of the claim gives", "rolesClaim", "roles")
	case slices.ContainsFunc(s.Domains, func(d string) bool { return strings.ContainsAny(d, "@/ ") || !strings.Contains(d, ".") }):
		return wrong("%s: write domains, such as acme.example", "allowedDomains")
	}
	for _, roles := range s.Roles {
		if err := access.CheckRoles(roles); err != nil {
			return fmt.Errorf("%s: %w", name("roles"), err)
		}
	}
	return nil
}

// private reports whether what goes to an address can be read by nobody else.
func private(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

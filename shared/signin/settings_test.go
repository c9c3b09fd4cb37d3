package signin

import (
	"strings"
	"testing"
)

func TestSettingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{ // "": they are right
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden"}`: "",
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden", "rolesClaim": "groups", "roles": {"platform": ["engineer"]}, "allowedDomains": ["acme.example"], "scopes": ["groups"]}`: "",
		`{"issuer": "http://127.0.0.1:1", "clientId": "svc", "clientSecret": "hidden"}`:                                                                                                                       "",
		`{"issuer": "http://a.example", "clientId": "svc", "clientSecret": "hidden"}`:                                                                                                                         "the issuer must be an https:// address",
		`{"issuer": "https://a.example", "clientId": "svc"}`:                                                                                                                                                  "the issuer needs the clientId and the clientSecret",
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden", "rolesClaim": "groups"}`:                                                                                                "the rolesClaim needs the roles",
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden", "roles": {"platform": ["engineer"]}}`:                                                                                   "the roles needs the rolesClaim",
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden", "rolesClaim": "groups", "roles": {"platform": ["hero"]}}`:                                                               "hero",
		`{"issuer": "https://a.example", "clientId": "svc", "clientSecret": "hidden", "allowedDomains": ["@acme.example"]}`:                                                                                   "the allowedDomains: write domains",
		`{"issuer": "https://a.example", "clientid": "svc", "client_secret": "hidden"}`:                                                                                                                       "it is not JSON with issuer",
		`issuer: https://a.example`: "it is not JSON with issuer",
	} {
		s, err := Read(text)
		if err == nil {
			s.PublicURL = "https://flags.example"
			err = s.Check(func(name string) string { return "the " + name })
		}
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
		s.PublicURL = "http://flags.example"
		if err := s.Check(func(name string) string { return name }); err == nil {
			t.Errorf("%s: people sign in over plain HTTP", text)
		}
	}
}

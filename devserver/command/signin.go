package command

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/signin"
)

// signInFlags say with whom people sign in to the console.
type signInFlags struct {
	signin.Settings
	secretFile string
}

func (f *signInFlags) add(flags *pflag.FlagSet) {
	f.Roles = map[string][]string{}
	flags.StringVar(&f.Issuer, "oidc-issuer", "", "OpenID Connect issuer that people sign in to the console with, such as https://accounts.example.com")
	flags.StringVar(&f.ClientID, "oidc-client-id", "", "what the issuer calls this service")
	flags.StringVar(&f.secretFile, "oidc-client-secret-file", "", "file with the secret that the issuer knows this service by")
	flags.StringArrayVar(&f.Scopes, "oidc-scope", nil, "scope to ask for beside openid, profile and email; may be repeated")
	flags.StringVar(&f.RolesClaim, "oidc-roles-claim", "", "claim with a person's groups, such as groups or realm_access.roles")
	flags.Func("oidc-role", "role that a value of the claim gives, as `value=role`; may be repeated", func(text string) error {
		value, role, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return fmt.Errorf("write value=role, such as platform-team=engineer")
		}
		f.Roles[value] = append(f.Roles[value], role)
		return access.CheckRoles([]string{role})
	})
	flags.StringArrayVar(&f.Domains, "oidc-allowed-domain", nil, "domain whose verified e-mail addresses let newcomers in; may be repeated")
}

// settings are nil where nobody signs in with an issuer.
func (f *signInFlags) settings(in Invocation, publicURL string) (*signin.Settings, error) {
	given := f.ClientID != "" || f.secretFile != "" || f.RolesClaim != "" || len(f.Roles) > 0 || len(f.Domains) > 0 || len(f.Scopes) > 0
	switch {
	case f.Issuer == "" && given:
		return nil, cli.Usagef("--oidc-issuer is missing: the other flags of OpenID Connect say nothing without it")
	case f.Issuer == "":
		return nil, nil
	case !private(f.Issuer):
		return nil, cli.Usagef("--oidc-issuer must be an https:// address")
	case f.ClientID == "" || f.secretFile == "":
		return nil, cli.Usagef("--oidc-issuer needs --oidc-client-id and --oidc-client-secret-file, as the issuer has them for this service")
	case publicURL == "":
		return nil, cli.Usagef("--oidc-issuer needs --public-url: the issuer sends people back to <public URL>%s", signin.CallbackPath)
	case !private(publicURL):
		return nil, cli.Usagef("--oidc-issuer needs a --public-url that begins with https://: sessions do not cross a network unencrypted")
	case len(f.Roles) > 0 && f.RolesClaim == "":
		return nil, cli.Usagef("--oidc-role needs --oidc-roles-claim, which says where a person's groups stand")
	case f.RolesClaim != "" && len(f.Roles) == 0:
		return nil, cli.Usagef("--oidc-roles-claim needs --oidc-role, which says what role a value of %s gives", f.RolesClaim)
	}
	for _, domain := range f.Domains {
		if strings.ContainsAny(domain, "@/ ") || !strings.Contains(domain, ".") {
			return nil, cli.Usagef("--oidc-allowed-domain %q: write a domain, such as acme.example", domain)
		}
	}
	secret, err := os.ReadFile(in.Absolute(f.secretFile))
	if err != nil {
		return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
	}
	s := f.Settings
	s.ClientSecret = strings.TrimSpace(string(secret))
	if s.ClientSecret == "" {
		return nil, fmt.Errorf("--oidc-client-secret-file: %s is empty", in.Display(in.Absolute(f.secretFile)))
	}
	return &s, nil
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

package command

import (
	"fmt"
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

// called are the flags by the names of settings.
var called = map[string]string{
	"issuer": "--oidc-issuer", "clientId": "--oidc-client-id", "clientSecret": "--oidc-client-secret-file", "rolesClaim": "--oidc-roles-claim",
	"roles": "--oidc-role", "allowedDomains": "--oidc-allowed-domain", "publicUrl": "--public-url",
}

// settings are nil where nobody signs in with an issuer.
func (f *signInFlags) settings(in Invocation, publicURL string) (*signin.Settings, error) {
	given := f.ClientID != "" || f.secretFile != "" || f.RolesClaim != "" || len(f.Roles) > 0 || len(f.Domains) > 0 || len(f.Scopes) > 0
	switch {
	case f.Issuer == "" && given:
		return nil, cli.Usagef("--oidc-issuer is missing: the other flags of OpenID Connect say nothing without it")
	case f.Issuer == "":
		return nil, nil
	}
	s := f.Settings
	s.PublicURL = publicURL
	if f.secretFile != "" {
		secret, err := os.ReadFile(in.Absolute(f.secretFile))
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		if s.ClientSecret = strings.TrimSpace(string(secret)); s.ClientSecret == "" {
			return nil, fmt.Errorf("--oidc-client-secret-file: %s is empty", in.Display(in.Absolute(f.secretFile)))
		}
	}
	if err := s.Check(func(name string) string { return called[name] }); err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return &s, nil
}

package settings

// SignIn says which provider people sign in with. It has no secret.
type SignIn struct {
	Issuer   string `json:"issuer"` // "" for none
	ClientID string `json:"clientId"`
	// Callback is where the provider sends people back to.
	Callback string   `json:"callback"`
	Scopes   []string `json:"scopes"`
	// RolesClaim is the claim with a person's groups; Roles are what each of its values gives.
	RolesClaim string              `json:"rolesClaim"`
	Roles      map[string][]string `json:"roles"`
	// Domains are those whose verified addresses let newcomers in.
	Domains []string `json:"allowedDomains"`
}

// ShowSignIn shows an administrator whom people sign in with.
func (s *Settings) ShowSignIn(with SignIn) (*SignIn, error) {
	return &with, s.administer("seeing how people sign in")
}

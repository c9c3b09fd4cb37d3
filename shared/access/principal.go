package access

import "slices"

// PrincipalType tells people from programs.
type PrincipalType string

// The two types of principal.
const (
	PrincipalUser           PrincipalType = "user"
	PrincipalServiceAccount PrincipalType = "service_account"
)

const serviceAccountDomain = "@service-accounts.svc"

// Principal is the one a key acts as.
type Principal struct {
	Type PrincipalType `json:"type"`
	ID   ID            `json:"id"`
	Name string        `json:"name"`
	// Email is a person's address; a service account has none of its own.
	Email    string   `json:"email,omitempty"`
	Roles    []string `json:"roles"`
	Disabled bool     `json:"disabled,omitempty"`
}

// EffectiveRoles lists the principal's roles, member among them, in
// alphabetical order.
func (p Principal) EffectiveRoles() []string {
	roles := append([]string{RoleMember}, p.Roles...)
	slices.Sort(roles)
	return slices.Compact(roles)
}

// CommitEmail is the author's address on the principal's commits.
func (p Principal) CommitEmail() string {
	if p.Type == PrincipalServiceAccount {
		return string(p.ID) + serviceAccountDomain
	}
	return p.Email
}

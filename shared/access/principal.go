package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PrincipalType tells people from programs.
type PrincipalType string

// The two types of principal.
const (
	PrincipalUser           PrincipalType = "user"
	PrincipalServiceAccount PrincipalType = "service_account"
)

// Principal is the one a key acts as.
type Principal struct {
	Type PrincipalType `json:"type"`
	ID   ID            `json:"id"`
	Name string        `json:"name"`
	// Email is a person's address; a service account has none of its own.
	Email    string   `json:"email,omitempty"`
	Roles    []string `json:"roles"`
	Disabled bool     `json:"disabled,omitempty"`
	// Identity is whom a person signs in as at an issuer of OpenID Connect, and Claimed are
	// the roles that the issuer's claims gave them when they were read last.
	Identity Identity `json:"identity,omitzero"`
	Claimed  []string `json:"claimedRoles,omitempty"`
}

// Identity is a person as an issuer knows them: an e-mail address may pass from one to
// another, a subject never does.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// EffectiveRoles lists the principal's roles, member among them, in
// alphabetical order.
func (p Principal) EffectiveRoles() []string {
	roles := slices.Concat([]string{RoleMember}, p.Roles, p.Claimed)
	slices.Sort(roles)
	return slices.Compact(roles)
}

// CommitEmail is the author's address on the principal's commits.
func (p Principal) CommitEmail() string {
	if p.Type == PrincipalServiceAccount {
		return string(p.ID) + "@service-accounts.svc"
	}
	return p.Email
}

// same reports whether two records speak of the same person or account: people
// are told apart by their address, where they have one.
func (p Principal) same(other Principal) bool {
	if p.Type != other.Type {
		return false
	}
	if p.Email != "" || other.Email != "" {
		return strings.EqualFold(p.Email, other.Email)
	}
	return p.Name == other.Name
}

var errOnlyUsers = errors.New("only a user has an e-mail address")

// Check says everything that is wrong with a principal.
func (p Principal) Check() error {
	var problems []error
	if _, err := ParseID(string(p.ID)); err != nil {
		problems = append(problems, fmt.Errorf("principal: %w", err))
	}
	if p.Type != PrincipalUser && p.Type != PrincipalServiceAccount {
		problems = append(problems, errors.New("a principal is of type user or service_account"))
	}
	if p.Name == "" {
		problems = append(problems, errors.New("a principal needs a name"))
	}
	if p.Type != PrincipalUser && p.Email != "" {
		problems = append(problems, errOnlyUsers)
	}
	return errors.Join(append(problems, CheckRoles(slices.Concat(p.Roles, p.Claimed)))...)
}

// CheckRoles names all that are no roles.
func CheckRoles(roles []string) error {
	var problems []error
	for _, role := range roles {
		if !slices.Contains(Roles(), role) {
			problems = append(problems, fmt.Errorf("there is no role %q; roles are %s", role, strings.Join(Roles(), ", ")))
		}
	}
	return errors.Join(problems...)
}

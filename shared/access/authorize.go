package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Tier is the stored access tier of a document, as written there. The empty
// tier is TierStandard; a tier that is none of the four is treated as the
// strictest, so that a misspelt one never opens a document.
type Tier string

// The access tiers, low to high.
const (
	TierSupport          Tier = "support"
	TierStandard         Tier = "standard"
	TierProtectedEnv     Tier = "protected-env"
	TierProtectedAllEnvs Tier = "protected-all-envs"
)

// Required is the permission that a write to a document of this tier needs
// when it touches these scopes.
func Required(tier Tier, scopes []Scope) Permission {
	switch tier {
	case TierSupport:
		return EditSupport
	case TierStandard, "":
		return EditStandard
	case TierProtectedEnv:
		// The default rules are guarded even in a workspace that has no
		// protected environment yet.
		if slices.ContainsFunc(scopes, func(s Scope) bool { return s.Protected || s.Name == DefaultScope }) {
			return EditProtected
		}
		return EditStandard
	default:
		return EditProtected
	}
}

// Write is what has to be authorized. Build one with Edit or Move; the zero
// Write needs the strictest permission.
type Write struct {
	tiers  []Tier
	scopes []Scope
}

// Edit is a write that leaves the document in its tier. Without scopes it is a
// write that changes nothing, a repeated PUT for instance: the permission of
// the tier is needed all the same, in its .nonprotected variant at least.
func Edit(tier Tier, scopes ...Scope) Write {
	return Write{tiers: []Tier{tier}, scopes: scopes}
}

// Move is a write that may move the document from one tier to another. It
// needs the permissions of both. The tier is metadata, so the scopes of a real
// move include Environments.Metadata.
func Move(from, to Tier, scopes ...Scope) Write {
	return Write{tiers: []Tier{from, to}, scopes: scopes}
}

// Denial is a refused write. It is not an error, so that a nil Denial cannot
// end up as a non-nil error by mistake.
type Denial struct {
	// Required is the permission that was needed, the stricter one of two.
	// It is never a .nonprotected variant.
	Required Permission
	// Missing lists every permission that was needed and not held, low to high.
	Missing []Permission
	// Scopes names what the write touches, and what of it is protected.
	Scopes []string
	// roles are those of which each would do.
	roles []string
}

// Message says in one sentence what was refused and what would be needed. It
// names no value.
func (d Denial) Message() string {
	var missing []string
	for _, permission := range d.Missing {
		missing = append(missing, string(permission))
	}
	return fmt.Sprintf("editing %s needs the permission %s, which comes with the role %s",
		cmp.Or(strings.Join(d.Scopes, ", "), "this document"),
		strings.Join(missing, " and "), strings.Join(d.roles, " or "))
}

// Authorize decides whether a principal with these roles may do the write; nil
// means yes.
func Authorize(roles []string, write Write) *Denial {
	missing := write.missing(roles)
	if missing == nil {
		return nil
	}
	var scopes []string
	for _, scope := range write.scopes {
		name := scope.Name
		if scope.Protected {
			name += " (protected)"
		}
		scopes = append(scopes, name)
	}
	return &Denial{
		Required: missing[len(missing)-1],
		Missing:  missing,
		Scopes:   scopes,
		roles:    slices.DeleteFunc(Roles(), func(role string) bool { return write.missing([]string{role}) != nil }),
	}
}

// missing lists what the write needs and the roles do not grant, low to high.
func (w Write) missing(roles []string) []Permission {
	granted := Permissions(roles)
	var missing []Permission
	anyProtected := slices.ContainsFunc(w.scopes, func(s Scope) bool { return s.Protected })
	for _, permission := range []Permission{EditSupport, EditStandard, EditProtected} {
		needed := slices.ContainsFunc(w.tiers, func(tier Tier) bool { return Required(tier, w.scopes) == permission })
		if len(w.tiers) == 0 {
			needed = permission == EditProtected
		}
		if needed && !slices.Contains(granted, permission) && (anyProtected || !slices.Contains(granted, permission+nonprotected)) {
			missing = append(missing, permission)
		}
	}
	return missing
}

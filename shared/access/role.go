package access

import (
	"maps"
	"slices"
	"strings"
)

// Permission is what a role grants and a write needs.
type Permission string

// The permissions to edit. A .nonprotected variant stands for the permission
// it is named after in environments that are not protected; config.edit.protected
// has no such variant. ReviewBypass allows nothing by itself: with it, an edit that is
// allowed needs no approval.
const (
	EditSupport              Permission = "config.edit.support"
	EditStandard             Permission = "config.edit.standard"
	EditProtected            Permission = "config.edit.protected"
	EditSupportNonprotected  Permission = "config.edit.support" + nonprotected
	EditStandardNonprotected Permission = "config.edit.standard" + nonprotected
	ReviewBypass             Permission = "config.review.bypass"
)

const (
	nonprotected       = ".nonprotected"
	organizationPrefix = "org."
	organization       = Permission(organizationPrefix + "*")
)

// RoleMember is the role that every principal has.
const RoleMember = "member"

// role is what a role grants, and that in words.
type role struct {
	meaning     string
	permissions []Permission
}

var known = map[string]role{
	RoleMember:           {"reads everything, edits nothing; everybody has it", nil},
	"admin":              {"manages the organization, edits nothing", []Permission{organization}},
	"support":            {"edits items of the access tier support", []Permission{EditSupport}},
	"engineer":           {"edits items of the tiers support and standard (new ones are), protected environments too", []Permission{EditSupport, EditStandard}},
	"protected_engineer": {"edits everything", []Permission{EditSupport, EditStandard, EditProtected}},
	"support_nonprotected": {"as support, without protected environments and what reaches them (default rules)",
		[]Permission{EditSupportNonprotected}},
	"engineer_nonprotected": {"as engineer, without protected environments and what reaches them (default rules, new items)",
		[]Permission{EditSupportNonprotected, EditStandardNonprotected}},
	"review_bypass": {"edits without approvals what has to be reviewed and what another role allows to edit; the audit trail tells each time",
		[]Permission{ReviewBypass}},
}

// Meaning says in words what a role allows.
func Meaning(role string) string { return known[role].meaning }

// Roles lists the known role slugs in alphabetical order.
func Roles() []string {
	return slices.Sorted(maps.Keys(known))
}

// Permissions lists, in alphabetical order, what a key may do whose principal
// has the given roles. Organization permissions are left out: no key manages
// members, billing or service accounts. Unknown roles grant nothing.
func Permissions(roles []string) []Permission {
	var granted []Permission
	for _, role := range roles {
		for _, permission := range known[role].permissions {
			if !strings.HasPrefix(string(permission), organizationPrefix) {
				granted = append(granted, permission)
			}
		}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

// BypassesReview reports whether who has these roles may edit without approvals.
func BypassesReview(roles []string) bool { return slices.Contains(Permissions(roles), ReviewBypass) }

// Administers reports whether a person with these roles manages people, keys, service
// accounts and environments, once signed in: no key does.
func Administers(roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(known[role].permissions, organization) })
}

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
// has no such variant.
const (
	EditSupport              Permission = "config.edit.support"
	EditStandard             Permission = "config.edit.standard"
	EditProtected            Permission = "config.edit.protected"
	EditSupportNonprotected  Permission = "config.edit.support" + nonprotected
	EditStandardNonprotected Permission = "config.edit.standard" + nonprotected
)

const (
	nonprotected       = ".nonprotected"
	organizationPrefix = "org."
)

// RoleMember is the role that every principal has.
const RoleMember = "member"

var permissionsByRole = map[string][]Permission{
	RoleMember:              nil,
	"admin":                 {"org.*"},
	"support":               {EditSupport},
	"engineer":              {EditSupport, EditStandard},
	"protected_engineer":    {EditSupport, EditStandard, EditProtected},
	"support_nonprotected":  {EditSupportNonprotected},
	"engineer_nonprotected": {EditSupportNonprotected, EditStandardNonprotected},
}

var meanings = map[string]string{
	RoleMember:              "reads everything, edits nothing; everybody has it",
	"admin":                 "manages the organization, and edits nothing either",
	"support":               "edits items of the access tier support",
	"engineer":              "edits items of the tiers support and standard (new ones are), protected environments too",
	"protected_engineer":    "edits everything",
	"support_nonprotected":  "as support, without protected environments and what reaches them (default rules)",
	"engineer_nonprotected": "as engineer, without protected environments and what reaches them (default rules, new items)",
}

// Meaning says in words what a role allows.
func Meaning(role string) string { return meanings[role] }

// Roles lists the known role slugs in alphabetical order.
func Roles() []string {
	return slices.Sorted(maps.Keys(permissionsByRole))
}

// Permissions lists, in alphabetical order, what a key may do whose principal
// has the given roles. Organization permissions are left out: no key manages
// members, billing or service accounts. Unknown roles grant nothing.
func Permissions(roles []string) []Permission {
	var granted []Permission
	for _, role := range roles {
		for _, permission := range permissionsByRole[role] {
			if !strings.HasPrefix(string(permission), organizationPrefix) {
				granted = append(granted, permission)
			}
		}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Entry is what one edit of a registry did. It holds no secret and no digest.
type Entry struct {
	// Version is the access version that the edit made.
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Changes []Change  `json:"changes"`
}

// Change is what was done to one thing.
type Change struct {
	Action Action `json:"action"`
	// Subject is the key, the principal, the environment or the workspace.
	Subject string `json:"subject"`
	Name    string `json:"name,omitempty"`
	Kind    string `json:"kind,omitempty"` // of a key or a principal
	Owner   ID     `json:"owner,omitempty"`
	// Before and After are the roles, or what else has a value.
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// Action is what was done.
type Action string

// The actions.
const (
	KeyCreated         Action = "key.created"
	KeyRevoked         Action = "key.revoked"
	KeyEnds            Action = "key.ends"
	PrincipalCreated   Action = "principal.created"
	PrincipalDisabled  Action = "principal.disabled"
	PrincipalEnabled   Action = "principal.enabled"
	PrincipalRenamed   Action = "principal.renamed"
	RolesChanged       Action = "principal.roles"
	IdentityChanged    Action = "principal.identity"
	WorkspaceChanged   Action = "workspace.changed"
	EnvironmentAdded   Action = "environment.added"
	EnvironmentRemoved Action = "environment.removed"
	EnvironmentChanged Action = "environment.changed"
	WebhookCreated     Action = "webhook.created"
	WebhookChanged     Action = "webhook.changed"
	WebhookRotated     Action = "webhook.rotated"
	WebhookDeleted     Action = "webhook.deleted"
	WebhookRedelivered Action = "webhook.redelivered"
	ReviewBypassed     Action = "review.bypassed"
	GuardHeldUp        Action = "guard.held"
	RequestProposed    Action = "request.proposed"
	RequestApproved    Action = "request.approved"
	RequestWithdrawn   Action = "request.withdrawn"
	RequestChanged     Action = "request.changed"
	RequestApplied     Action = "request.applied"
	RequestClosed      Action = "request.closed"
)

// changes are found by comparing two states, so that no edit can forget to
// tell. Principals come first: a key that is new may belong to one that is new.
func changes(before, after State, at time.Time) []Change {
	var found []Change
	for _, p := range after.Principals {
		c := Change{Subject: string(p.ID), Name: p.Name, Kind: string(p.Type)}
		was := before.principal(p.ID)
		if was == nil {
			c.Action, c.After = PrincipalCreated, p.Given()
			found = append(found, c)
			if p.Identity != (Identity{}) {
				c.Action, c.After = IdentityChanged, p.Identity.words()
				found = append(found, c)
			}
			continue
		}
		if was.Name != p.Name || was.Email != p.Email {
			renamed := c
			renamed.Action, renamed.Before, renamed.After = PrincipalRenamed, was.called(), p.called()
			found = append(found, renamed)
		}
		if before, after := was.Given(), p.Given(); !slices.Equal(before, after) {
			roles := c
			roles.Action, roles.Before, roles.After = RolesChanged, before, after
			found = append(found, roles)
		}
		if was.Identity != p.Identity {
			identity := c
			identity.Action, identity.Before, identity.After = IdentityChanged, was.Identity.words(), p.Identity.words()
			found = append(found, identity)
		}
		if p.Disabled != was.Disabled {
			c.Action = PrincipalEnabled
			if p.Disabled {
				c.Action = PrincipalDisabled
			}
			found = append(found, c)
		}
	}
	for _, k := range before.Keys {
		if after.key(k.ID) == nil && k.LiveAt(at) == nil { // another has its place, see addKey
			found = append(found, Change{Action: KeyRevoked, Subject: string(k.ID), Name: k.Name, Kind: string(k.Kind), Owner: k.PrincipalID})
		}
	}
	for _, k := range after.Keys {
		c := Change{Subject: string(k.ID), Name: k.Name, Kind: string(k.Kind), Owner: k.PrincipalID}
		switch was := before.key(k.ID); {
		case was == nil:
			c.Action, c.After = KeyCreated, k.limits()
		case !k.RevokedAt.IsZero() && was.RevokedAt.IsZero():
			c.Action = KeyRevoked
		case !k.ExpiresAt.Equal(was.ExpiresAt):
			c.Action, c.Before, c.After = KeyEnds, was.limits(), k.limits()
		default:
			continue
		}
		found = append(found, c)
	}
	if was, is := before.Workspace.words(), after.Workspace.words(); !slices.Equal(was, is) {
		found = append(found, Change{Action: WorkspaceChanged, Subject: after.Workspace.ID, Before: was, After: is})
	}
	return found
}

func (p Principal) called() []string {
	if p.Email == "" {
		return []string{p.Name}
	}
	return []string{p.Name, p.Email}
}

// Given are the roles of a principal, and those that an issuer's claims give, as such.
func (p Principal) Given() []string {
	roles := slices.Clone(p.Roles)
	for _, role := range p.Claimed {
		roles = append(roles, role+" (claimed)")
	}
	return roles
}

func (i Identity) words() []string {
	if i == (Identity{}) {
		return nil
	}
	return []string{i.Subject + " of " + i.Issuer}
}

func (r KeyRecord) limits() []string {
	var limits []string
	if r.Environment != "" {
		limits = append(limits, "environment "+r.Environment)
	}
	if r.Topic != "" {
		limits = append(limits, "topic "+r.Topic)
	}
	if !r.ExpiresAt.IsZero() {
		limits = append(limits, "until "+r.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return limits
}

// signing are the words of keys that people sign in with.
var signing = map[Kind]map[Action]string{
	KindSession: {KeyCreated: "signed in by ", KeyRevoked: "signed out, who had signed in by "},
	KindOneTime: {KeyCreated: "sign-in address made: ", KeyRevoked: "sign-in address used or ended: "},
}

// inKind writes a kind as people do, such as service account and public SDK.
var inKind = strings.NewReplacer("_sdk", " SDK", "_", " ")

// Words say what was done in a line.
func (c Change) Words() string {
	what := c.Subject
	if c.Name != "" {
		what = c.Name + " (" + c.Subject + ")"
	}
	kind := inKind.Replace(c.Kind)
	list := func(words []string) string { return cmp.Or(strings.Join(words, ", "), "none") }
	and := func(words []string) string { return strings.Join(append([]string{""}, words...), ", ") }
	switch c.Action {
	case KeyCreated, KeyRevoked:
		if words := signing[Kind(c.Kind)][c.Action]; words != "" {
			return words + what + and(c.After)
		}
	}
	switch c.Action {
	case KeyCreated:
		return fmt.Sprintf("%s key made: %s%s", kind, what, and(c.After))
	case KeyRevoked:
		return fmt.Sprintf("%s key revoked: %s", kind, what)
	case KeyEnds:
		return fmt.Sprintf("%s key %s: %s", kind, what, list(c.After))
	case PrincipalCreated:
		return fmt.Sprintf("%s added: %s, %s", kind, what, list(c.After))
	case PrincipalDisabled:
		return "disabled: " + what
	case PrincipalEnabled:
		return "enabled: " + what
	case PrincipalRenamed:
		return fmt.Sprintf("%s is called: %s, before %s", what, list(c.After), list(c.Before))
	case RolesChanged:
		return fmt.Sprintf("roles of %s: %s, before %s", what, list(c.After), list(c.Before))
	case IdentityChanged:
		return fmt.Sprintf("%s signs in as: %s, before %s", what, list(c.After), list(c.Before))
	case EnvironmentAdded:
		return "environment added: " + what + and(c.After)
	case EnvironmentRemoved:
		return "environment removed: " + what
	case EnvironmentChanged:
		return fmt.Sprintf("environment %s: %s, before %s", what, list(c.After), list(c.Before))
	case WebhookCreated:
		return "webhook added: " + what + and(c.After)
	case WebhookChanged:
		return fmt.Sprintf("webhook %s: %s, before %s", what, list(c.After), list(c.Before))
	case WebhookRotated:
		return "webhook has a new secret: " + what
	case WebhookDeleted:
		return "webhook deleted: " + what
	case WebhookRedelivered:
		return "webhook was sent once more what it had not taken: " + what + and(c.After)
	case ReviewBypassed:
		return "a change was made without the approvals that it needs in " + list(c.After)
	case GuardHeldUp:
		return "a guard could not take a change back: " + what + ", " + list(c.After)
	case RequestProposed, RequestApproved, RequestWithdrawn, RequestChanged, RequestApplied, RequestClosed:
		what := map[Action]string{RequestProposed: "proposed", RequestApproved: "approved", RequestWithdrawn: "approval taken back", RequestChanged: "changed", RequestApplied: "applied", RequestClosed: "closed"}[c.Action]
		return fmt.Sprintf("change request %s: #%s %s", what, c.Subject, c.Name)
	case WorkspaceChanged:
		return fmt.Sprintf("workspace: %s, before %s", list(c.After), list(c.Before))
	}
	return string(c.Action) + ": " + what
}

// Package audit says who made, revoked and changed which key, role and
// environment of a workspace, and when.
//
// What a registry does (keys, principals and their roles, the record of the
// workspace) is found by comparing its state before and after an edit, so that
// no edit can forget to tell. The ledgers store it as one Entry with the edit
// itself: it is there exactly when the edit landed, and nothing changes it
// afterwards. Environments are declared in the workspace file, whose history in
// git says who changed it: their events are read from there, and stored nowhere
// else.
//
// What must stay true: an event holds no secret and no digest.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Entry is what one edit of a registry did.
type Entry struct {
	// Version is the access version that the edit made.
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Changes []Change  `json:"changes"`
}

// Event is one change, with who made it and when.
type Event struct {
	At time.Time `json:"at"`
	// By is who ran the command, or the author of the commit, in their own
	// words; it proves nothing.
	By string `json:"by"`
	Change
	// Commit is the commit that changed an environment.
	Commit string `json:"commit,omitempty"`
}

// Change is what was done to one thing.
type Change struct {
	Action Action `json:"action"`
	// Subject is the key, the principal, the environment or the workspace.
	Subject string    `json:"subject"`
	Name    string    `json:"name,omitempty"`
	Kind    string    `json:"kind,omitempty"` // of a key or a principal
	Owner   access.ID `json:"owner,omitempty"`
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
	PrincipalCreated   Action = "principal.created"
	PrincipalDisabled  Action = "principal.disabled"
	PrincipalEnabled   Action = "principal.enabled"
	RolesChanged       Action = "principal.roles"
	WorkspaceChanged   Action = "workspace.changed"
	EnvironmentAdded   Action = "environment.added"
	EnvironmentRemoved Action = "environment.removed"
	EnvironmentChanged Action = "environment.changed"
)

// State is what a registry holds, as far as its changes are told.
type State struct {
	ID         access.ID // of the workspace
	Workspace  []string  // its record, in words
	Principals []access.Principal
	Keys       []access.KeyRecord
}

// WorkspaceWords are a workspace's record, without its secret.
func WorkspaceWords(name string, billingInactive, provisioning bool) []string {
	words := []string{"name " + name}
	if billingInactive {
		words = append(words, "billing inactive")
	}
	if provisioning {
		words = append(words, "provisioning")
	}
	return words
}

// Changes are what an edit did to a registry, principals first: a key that is
// new may belong to one that is new.
func Changes(before, after State) []Change {
	var found []Change
	for _, p := range after.Principals {
		found = append(found, principalChanges(before.Principals, p)...)
	}
	for _, k := range after.Keys {
		found = append(found, keyChanges(before.Keys, k)...)
	}
	if !slices.Equal(before.Workspace, after.Workspace) {
		found = append(found, Change{Action: WorkspaceChanged, Subject: string(after.ID), Before: before.Workspace, After: after.Workspace})
	}
	return found
}

func principalChanges(before []access.Principal, p access.Principal) []Change {
	c := Change{Subject: string(p.ID), Name: p.Name, Kind: string(p.Type)}
	with := func(action Action, before, after []string) Change {
		c := c
		c.Action, c.Before, c.After = action, before, after
		return c
	}
	i := slices.IndexFunc(before, func(other access.Principal) bool { return other.ID == p.ID })
	if i < 0 {
		return []Change{with(PrincipalCreated, nil, p.Roles)}
	}
	var found []Change
	if !slices.Equal(before[i].Roles, p.Roles) {
		found = append(found, with(RolesChanged, before[i].Roles, p.Roles))
	}
	switch {
	case p.Disabled && !before[i].Disabled:
		found = append(found, with(PrincipalDisabled, nil, nil))
	case !p.Disabled && before[i].Disabled:
		found = append(found, with(PrincipalEnabled, nil, nil))
	}
	return found
}

func keyChanges(before []access.KeyRecord, k access.KeyRecord) []Change {
	c := Change{Subject: string(k.ID), Name: k.Name, Kind: string(k.Kind), Owner: k.PrincipalID}
	i := slices.IndexFunc(before, func(other access.KeyRecord) bool { return other.ID == k.ID })
	switch {
	case i < 0:
		c.Action, c.After = KeyCreated, keyLimits(k)
	case !k.RevokedAt.IsZero() && before[i].RevokedAt.IsZero():
		c.Action = KeyRevoked
	default:
		return nil
	}
	return []Change{c}
}

func keyLimits(k access.KeyRecord) []string {
	var limits []string
	if k.Environment != "" {
		limits = append(limits, "environment "+k.Environment)
	}
	if !k.ExpiresAt.IsZero() {
		limits = append(limits, "until "+k.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return limits
}

// Environments are the changes between two states of the workspace file.
func Environments(before, after []byte) []Change {
	then, now := declared(before), declared(after)
	var found []Change
	for _, e := range now {
		c := Change{Action: EnvironmentAdded, Subject: e.Name, After: properties(e)}
		if i := slices.IndexFunc(then, func(other workspace.Environment) bool { return other.Name == e.Name }); i >= 0 {
			if then[i] == e {
				continue
			}
			c.Action, c.Before = EnvironmentChanged, properties(then[i])
		}
		found = append(found, c)
	}
	for _, e := range then {
		if !slices.ContainsFunc(now, func(other workspace.Environment) bool { return other.Name == e.Name }) {
			found = append(found, Change{Action: EnvironmentRemoved, Subject: e.Name, Before: properties(e)})
		}
	}
	return found
}

// declared are the environments of a workspace file, none of one that cannot be
// read.
func declared(text []byte) []workspace.Environment {
	if text == nil {
		return nil
	}
	ws, _ := workspace.Read(map[string][]byte{workspace.File: text})
	return slices.SortedFunc(slices.Values(ws.Environments), func(a, b workspace.Environment) int { return cmp.Compare(a.Name, b.Name) })
}

func properties(e workspace.Environment) []string {
	all := []string{e.Type}
	if e.Protected {
		all = append(all, "protected")
	}
	if e.Archived {
		all = append(all, "archived")
	}
	return all
}

// Events are those of entries and of environments, oldest first.
func Events(entries []Entry, environments []Event) []Event {
	all := slices.Clone(environments)
	for _, e := range entries {
		for _, c := range e.Changes {
			all = append(all, Event{At: e.At, By: e.By, Change: c})
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	return all
}

// Words say what was done in a line.
func (c Change) Words() string {
	what := c.Subject
	if c.Name != "" {
		what = c.Name + " (" + c.Subject + ")"
	}
	after := strings.Join(c.After, ", ")
	switch c.Action {
	case KeyCreated:
		return join(fmt.Sprintf("%s key made: %s", strings.ReplaceAll(c.Kind, "_", "-"), what), after)
	case KeyRevoked:
		return fmt.Sprintf("%s key revoked: %s", strings.ReplaceAll(c.Kind, "_", "-"), what)
	case PrincipalCreated:
		return join(fmt.Sprintf("%s added: %s", strings.ReplaceAll(c.Kind, "_", "-"), what), orNone(c.After))
	case PrincipalDisabled:
		return "disabled: " + what
	case PrincipalEnabled:
		return "enabled: " + what
	case RolesChanged:
		return fmt.Sprintf("roles of %s: %s, before %s", what, orNone(c.After), orNone(c.Before))
	case EnvironmentAdded:
		return join("environment added: "+what, after)
	case EnvironmentRemoved:
		return "environment removed: " + what
	case EnvironmentChanged:
		return fmt.Sprintf("environment %s: %s, before %s", what, after, strings.Join(c.Before, ", "))
	case WorkspaceChanged:
		return fmt.Sprintf("workspace: %s, before %s", orNone(c.After), orNone(c.Before))
	}
	return string(c.Action) + ": " + what
}

func join(text, more string) string {
	if more == "" {
		return text
	}
	return text + ", " + more
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// EnvironmentEvents are those of a commit that changed the workspace file.
func EnvironmentEvents(c repository.Commit, before, after []byte) []Event {
	var events []Event
	for _, change := range Environments(before, after) {
		events = append(events, Event{At: c.Committer.When.UTC(), By: c.Author.Name + " <" + c.Author.Email + ">", Change: change, Commit: c.SHA})
	}
	return events
}

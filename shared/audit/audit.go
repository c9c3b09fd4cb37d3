// Package audit says who issued, revoked and changed which key, role and
// environment of a workspace, and when.
//
// What is done to keys, principals and the record of the workspace is told by
// the registry (access.Entry), which keeps it with each edit. Environments are
// declared in the workspace file, whose history in git says who changed it:
// their events are read from there, and stored nowhere else.
package audit

import (
	"cmp"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Event is one change, with who made it and when.
type Event struct {
	At time.Time `json:"at"`
	// By is who ran the command, or the author of the commit, in their own
	// words; it proves nothing.
	By string `json:"by"`
	access.Change
	// Commit is the commit that changed an environment.
	Commit string `json:"commit,omitempty"`
}

// Events are those of entries and of environments, oldest first: the last so many or, with
// 0, all.
func Events(entries []access.Entry, environments []Event, newest int) []Event {
	all := slices.Clone(environments)
	for _, e := range entries {
		for _, c := range e.Changes {
			all = append(all, Event{At: e.At, By: e.By, Change: c})
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.At.Compare(b.At) })
	if newest == 0 {
		return all
	}
	return all[max(0, len(all)-newest):]
}

// EnvironmentEvents are those of a commit that changed the workspace file.
func EnvironmentEvents(c repository.Commit, before, after []byte) []Event {
	var events []Event
	for _, change := range Environments(before, after) {
		events = append(events, Event{At: c.Committer.When.UTC(), By: c.Author.Name + " <" + c.Author.Email + ">", Change: change, Commit: c.SHA})
	}
	return events
}

// Environments are the changes between two states of the workspace file, nil for none.
func Environments(before, after []byte) []access.Change {
	then, reviewedThen := declared(before)
	now, reviewedNow := declared(after)
	var found []access.Change
	for _, e := range now {
		c := access.Change{Action: access.EnvironmentAdded, Subject: e.Name, After: properties(e, reviewedNow)}
		if i := slices.IndexFunc(then, func(other workspace.Environment) bool { return other.Name == e.Name }); i >= 0 {
			c.Action, c.Before = access.EnvironmentChanged, properties(then[i], reviewedThen)
			if slices.Equal(c.Before, c.After) {
				continue
			}
		}
		found = append(found, c)
	}
	for _, e := range then {
		if !slices.ContainsFunc(now, func(other workspace.Environment) bool { return other.Name == e.Name }) {
			found = append(found, access.Change{Action: access.EnvironmentRemoved, Subject: e.Name, Before: properties(e, reviewedThen)})
		}
	}
	return found
}

// declared are the environments of a workspace file, none of one that cannot be
// read.
func declared(text []byte) ([]workspace.Environment, map[string]workspace.Review) {
	if text == nil {
		return nil, nil
	}
	ws, _ := workspace.Read(map[string][]byte{workspace.File: text})
	return slices.SortedStableFunc(slices.Values(ws.Environments), func(a, b workspace.Environment) int { return cmp.Compare(a.Name, b.Name) }), ws.Reviews()
}

func properties(e workspace.Environment, reviews map[string]workspace.Review) []string {
	all := []string{e.Type}
	if e.Protected {
		all = append(all, "protected")
	}
	if e.Archived {
		all = append(all, "archived")
	}
	if review, reviewed := reviews[e.Name]; reviewed {
		all = append(all, review.Words())
	}
	return all
}

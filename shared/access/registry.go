package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// State is what a registry holds at one version. One that was handed out is
// never changed.
type State struct {
	// Version is the access version: each edit raises it by one.
	Version   int64     `json:"version"`
	Workspace Workspace `json:"workspace"`
	// Principals and keys stand where they were added. None is ever removed, but for keys
	// that people sign in with: another may come in the place of one that has ended.
	Principals []Principal `json:"principals"`
	Keys       []KeyRecord `json:"keys"`
}

// NewState is the first state of a workspace.
func NewState(w Workspace) State {
	return State{Version: 1, Workspace: w, Principals: []Principal{}, Keys: []KeyRecord{}}
}

// Store keeps the state of one workspace, and what was done to it. It decides
// nothing.
type Store interface {
	Load(ctx context.Context) (State, error)
	// Update replaces the state by what edit makes of it, and keeps the entry
	// with it, unless that tells of no change. A state of the same version is
	// not stored. When somebody else was faster, or it is unknown whether the
	// edit was stored, edit is called again with the state as it is now.
	Update(ctx context.Context, edit func(State) (State, Entry, error)) error
	// Trail returns the newest entries, so many at most or, with 0, all; oldest first.
	Trail(ctx context.Context, newest int) ([]Entry, error)
	// Uses are the days, such as 2026-11-22, on which keys were used last, and people's
	// sessions under their principals, as far as that was noted.
	Uses(ctx context.Context) (map[ID]string, error)
}

// Registry is the record of a workspace, its principals and their keys. All
// rules for changing them are here; each method that changes something makes
// one edit, which is stored as a whole or not at all, and is told in the audit
// trail. An edit that finds everything as it is to be stores nothing.
type Registry struct {
	store  Store
	random io.Reader
	now    func() time.Time
	by     string
}

// NewRegistry is the registry in a store. Ids and keys are drawn from random.
func NewRegistry(store Store, random io.Reader, now func() time.Time) *Registry {
	return &Registry{store: store, random: random, now: now}
}

// By returns the registry for the edits of somebody, as the audit trail tells
// them.
func (r *Registry) By(who string) *Registry {
	by := *r
	by.by = who
	return &by
}

// ErrNotFound: there is nothing of the id that was given.
var ErrNotFound = errors.New("not found")

// notFound repeats an id only when it is one: a key is easily pasted in its
// place.
func notFound(what string, id ID) error {
	if _, err := ParseID(string(id)); err != nil {
		return fmt.Errorf("there is no such %s: %w", what, err)
	}
	return fmt.Errorf("there is no %s with the id %s: %w", what, id, ErrNotFound)
}

// Workspace returns the workspace's record.
func (r *Registry) Workspace(ctx context.Context) (Workspace, error) {
	s, err := r.load(ctx)
	return s.Workspace, err
}

// Version is the access version.
func (r *Registry) Version(ctx context.Context) (int64, error) {
	s, err := r.store.Load(ctx)
	return s.Version, err
}

// Principals lists the principals in the order in which they were added.
func (r *Registry) Principals(ctx context.Context) ([]Principal, error) {
	s, err := r.load(ctx)
	return s.Principals, err
}

// Keys lists the records of all keys, revoked ones too, in the order in which
// they were issued.
func (r *Registry) Keys(ctx context.Context) ([]KeyRecord, error) {
	s, err := r.load(ctx)
	return s.Keys, err
}

// Audit returns what was done to the registry in the last so many edits, 0 for all,
// oldest first.
func (r *Registry) Audit(ctx context.Context, newest int) ([]Entry, error) {
	return r.store.Trail(ctx, newest)
}

// LastUses are the days, such as 2026-11-22, on which keys were used last, and people's
// sessions under their principals, as far as that was noted.
func (r *Registry) LastUses(ctx context.Context) (map[ID]string, error) { return r.store.Uses(ctx) }

func (r *Registry) load(ctx context.Context) (State, error) {
	s, err := r.store.Load(ctx)
	return s.clone(), err
}

func (s State) clone() State {
	s.Workspace.Secret = slices.Clone(s.Workspace.Secret)
	s.Keys = slices.Clone(s.Keys)
	s.Principals = slices.Clone(s.Principals)
	for i, p := range s.Principals {
		s.Principals[i].Roles, s.Principals[i].Claimed = slices.Clone(p.Roles), slices.Clone(p.Claimed)
	}
	return s
}

// edit stores what change makes of the state. In another try of the same edit
// change may find its own work: an answer was lost.
func (r *Registry) edit(ctx context.Context, change func(s *State, again bool) error) error {
	again := false
	return r.store.Update(ctx, func(before State) (State, Entry, error) {
		after := before.clone()
		err := change(&after, again)
		again = true
		if err != nil || reflect.DeepEqual(before, after) {
			return before, Entry{}, err
		}
		after.Version++
		at := r.now().UTC().Truncate(time.Second)
		return after, Entry{Version: after.Version, At: at, By: r.by, Changes: changes(before, after, at)}, nil
	})
}

// Note tells the audit trail of something that is no edit. The version rises all the same:
// what was decided before and is not committed yet is decided again. Where an answer gets
// lost it may be told twice.
func (r *Registry) Note(ctx context.Context, c Change) error {
	return r.store.Update(ctx, func(s State) (State, Entry, error) { return s.noted(c, r) })
}

func (s State) noted(c Change, r *Registry) (State, Entry, error) {
	s.Version++
	return s, Entry{Version: s.Version, At: r.now().UTC().Truncate(time.Second), By: r.by, Changes: []Change{c}}, nil
}

// maxTold is how many of the newest entries are looked through for what was told already.
const maxTold = 1000

// NoteOnce is Note, but of what one of the newest entries tells already, as told says of a
// change that it holds.
func (r *Registry) NoteOnce(ctx context.Context, c Change, told func(Change) bool) error {
	return r.store.Update(ctx, func(s State) (State, Entry, error) {
		// Whoever tells it in between raises the version, so that this one looks again.
		entries, err := r.store.Trail(ctx, maxTold)
		if err != nil || slices.ContainsFunc(entries, func(e Entry) bool { return slices.ContainsFunc(e.Changes, told) }) {
			return s, Entry{}, err
		}
		return s.noted(c, r)
	})
}

// Bypassed is Note of a change that others had to approve.
func (r *Registry) Bypassed(ctx context.Context, environments []string) error {
	return r.Note(ctx, Change{Action: ReviewBypassed, Subject: strings.Join(environments, ","), After: environments})
}

func (s *State) principal(id ID) *Principal {
	if i := slices.IndexFunc(s.Principals, func(p Principal) bool { return p.ID == id }); i >= 0 {
		return &s.Principals[i]
	}
	return nil
}

func (s *State) key(id ID) *KeyRecord {
	if i := slices.IndexFunc(s.Keys, func(k KeyRecord) bool { return k.ID == id }); i >= 0 {
		return &s.Keys[i]
	}
	return nil
}

func (s *State) addPrincipal(p Principal) error {
	p.Roles = append([]string{}, p.Roles...)
	s.Principals = append(s.Principals, p)
	return p.Check()
}

// EnsurePrincipal returns the principal that stands for the same person or
// program as p: the one of its type with the same e-mail address or, when
// neither has one, as with service accounts, the same name. Only when there is
// none is p added. One that exists is returned as it is, whatever its roles.
func (r *Registry) EnsurePrincipal(ctx context.Context, p Principal) (found Principal, created bool, err error) {
	err = r.edit(ctx, func(s *State, _ bool) error {
		if same := s.same(p); same != nil {
			found, created = *same, created && same.ID == p.ID
			return nil
		}
		found, created = p, true
		return s.addPrincipal(p)
	})
	if err != nil {
		return Principal{}, false, err
	}
	return found, created, nil
}

func (s *State) same(p Principal) *Principal {
	if i := slices.IndexFunc(s.Principals, p.same); i >= 0 {
		return &s.Principals[i]
	}
	return nil
}

// SetDisabled disables a principal, so that none of its keys is accepted, or
// enables it again. Who was signed in then has to sign in again.
func (r *Registry) SetDisabled(ctx context.Context, id ID, disabled bool) error {
	return r.editPrincipal(ctx, id, func(s *State, p *Principal) error {
		if p.Disabled = disabled; disabled {
			r.endSessions(s, id)
		}
		return nil
	})
}

// SetRoles gives a principal these roles in the place of those it has.
func (r *Registry) SetRoles(ctx context.Context, id ID, roles []string) error {
	return r.editPrincipal(ctx, id, func(_ *State, p *Principal) error {
		if !slices.Equal(p.Roles, roles) {
			p.Roles = append([]string{}, roles...)
		}
		return CheckRoles(roles)
	})
}

// Rename gives a principal another name or e-mail address; nil stays as it is. What others
// have is ErrTaken.
func (r *Registry) Rename(ctx context.Context, id ID, name, email *string) error {
	return r.editPrincipal(ctx, id, func(s *State, p *Principal) error {
		if name != nil {
			p.Name = PlainName(*name)
		}
		if email != nil {
			if p.Type != PrincipalUser {
				return fmt.Errorf("%s %w user, and only users have an e-mail address", p.Name, ErrOtherType)
			}
			p.Email = PlainName(*email)
		}
		if other := s.sameAs(*p); other != nil {
			return fmt.Errorf("%w: %s", ErrTaken, other.Words())
		}
		return p.Check()
	})
}

// sameAs finds another principal that stands for the same person or program.
func (s *State) sameAs(p Principal) *Principal {
	if i := slices.IndexFunc(s.Principals, func(other Principal) bool { return other.ID != p.ID && other.same(p) }); i >= 0 {
		return &s.Principals[i]
	}
	return nil
}

func (r *Registry) editPrincipal(ctx context.Context, id ID, change func(*State, *Principal) error) error {
	return r.edit(ctx, func(s *State, _ bool) error {
		p := s.principal(id)
		if p == nil {
			return notFound("principal", id)
		}
		return change(s, p)
	})
}

// RevokeKey revokes a key and returns its record. One that is revoked already
// keeps its date.
func (r *Registry) RevokeKey(ctx context.Context, id ID, at time.Time) (record KeyRecord, err error) {
	err = r.edit(ctx, func(s *State, _ bool) error {
		key := s.key(id)
		if key == nil {
			return notFound("key", id)
		}
		if key.RevokedAt.IsZero() {
			key.RevokedAt = at
		}
		record = *key
		return nil
	})
	return record, err
}

// SetWorkspace changes the workspace's record. Its id stays what it is: every
// key names it.
func (r *Registry) SetWorkspace(ctx context.Context, change func(*Workspace)) error {
	return r.edit(ctx, func(s *State, _ bool) error {
		id := s.Workspace.ID
		if change(&s.Workspace); s.Workspace.ID != id {
			return fmt.Errorf("the workspace's id is %s and cannot be changed", id)
		}
		return nil
	})
}

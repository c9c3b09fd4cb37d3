package dynamo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
)

// CreatePrincipal adds a principal. The same one again is no error.
func (r *Registry) CreatePrincipal(ctx context.Context, p access.Principal) error {
	tries := 0
	return r.edit(ctx, func(s *state) error {
		tries++
		return s.addPrincipal(p, tries > 1)
	})
}

// EnsurePrincipal returns the principal that stands for the same person or
// program as p: the one of its type with the same e-mail or, when neither has
// one, as with service accounts, the same name. Only when there is none is p
// added. One that exists is returned as it is, whatever its roles.
func (r *Registry) EnsurePrincipal(ctx context.Context, p access.Principal) (found access.Principal, created bool, err error) {
	err = r.edit(ctx, func(s *state) error {
		if i := slices.IndexFunc(s.principals, func(e *entry[access.Principal]) bool { return p.Same(e.document) }); i >= 0 {
			found = s.principals[i].document
			created = created && found.ID == p.ID
			return nil
		}
		found, created = p, true
		return s.addPrincipal(p, false)
	})
	if err != nil {
		return access.Principal{}, false, err
	}
	return found, created, nil
}

// addPrincipal adds a principal. In another try of the same edit it may be
// there: an answer was lost.
func (s *state) addPrincipal(p access.Principal, another bool) error {
	p.Roles = append([]string{}, p.Roles...)
	if there := s.principal(p.ID); another && there != nil && reflect.DeepEqual(there.document, p) {
		return nil
	}
	var problems []error
	if s.principal(p.ID) != nil {
		problems = append(problems, fmt.Errorf("there is a principal with the id %s already", p.ID))
	}
	problems = append(problems, p.Check())
	s.principals = append(s.principals, &entry[access.Principal]{document: p, changed: true})
	return errors.Join(problems...)
}

// SetDisabled disables a principal, so that none of its keys is let in, or
// enables it again.
func (r *Registry) SetDisabled(ctx context.Context, id access.ID, disabled bool) error {
	return r.editPrincipal(ctx, id, func(e *entry[access.Principal]) error {
		e.changed = e.document.Disabled != disabled
		e.document.Disabled = disabled
		return nil
	})
}

// SetRoles gives a principal these roles in the place of those it has.
func (r *Registry) SetRoles(ctx context.Context, id access.ID, roles []string) error {
	return r.editPrincipal(ctx, id, func(e *entry[access.Principal]) error {
		e.changed = !slices.Equal(e.document.Roles, roles)
		e.document.Roles = append([]string{}, roles...)
		return access.CheckRoles(roles)
	})
}

func (r *Registry) editPrincipal(ctx context.Context, id access.ID, change func(*entry[access.Principal]) error) error {
	return r.edit(ctx, func(s *state) error {
		e := s.principal(id)
		if e == nil {
			return control.NoEntry("principal", id)
		}
		return change(e)
	})
}

// CreateKey adds the record of a key whose principal exists.
func (r *Registry) CreateKey(ctx context.Context, record access.KeyRecord) error {
	tries := 0
	return r.edit(ctx, func(s *state) error {
		tries++
		if there := s.key(record.ID); tries > 1 && there != nil && there.document.Digest == record.Digest {
			return nil
		}
		s.keys = append(s.keys, &entry[access.KeyRecord]{document: record, changed: true})
		return s.checkKey(record)
	})
}

func (s *state) checkKey(record access.KeyRecord) error {
	var problems []error
	if _, err := access.ParseID(string(record.ID)); err != nil {
		problems = append(problems, fmt.Errorf("key: %w", err))
	}
	if there := s.key(record.ID); there != nil && there.made != 0 {
		problems = append(problems, fmt.Errorf("there is a key with the id %s already", record.ID))
	}
	if record.Kind.Prefix() == "" {
		problems = append(problems, errors.New("a key is of kind user, service_account, public_sdk or secret_sdk"))
	}
	if string(record.WorkspaceID) != s.workspace.ID {
		problems = append(problems, fmt.Errorf("the key belongs to the workspace %s, and this is %s", record.WorkspaceID, s.workspace.ID))
	}
	if record.Digest == (access.Digest{}) {
		problems = append(problems, errors.New("the key has no digest"))
	}
	if s.principal(record.PrincipalID) == nil {
		problems = append(problems, control.NoEntry("principal", record.PrincipalID))
	}
	return errors.Join(problems...)
}

// RevokeKey revokes a key and returns its record. One that is revoked already
// keeps its date.
func (r *Registry) RevokeKey(ctx context.Context, id access.ID, at time.Time) (access.KeyRecord, error) {
	var record access.KeyRecord
	err := r.edit(ctx, func(s *state) error {
		e := s.key(id)
		if e == nil {
			return control.NoEntry("key", id)
		}
		if e.document.RevokedAt.IsZero() {
			e.document.RevokedAt, e.changed = at, true
		}
		record = e.document
		return nil
	})
	return record, err
}

// SetWorkspace changes the workspace's record. Its id stays what it is: every
// key names it.
func (r *Registry) SetWorkspace(ctx context.Context, change func(*control.Workspace)) error {
	return r.edit(ctx, func(s *state) error {
		w := s.workspace
		w.Secret = slices.Clone(w.Secret)
		change(&w)
		if w.ID != s.workspace.ID {
			return fmt.Errorf("the workspace's id is %s and cannot be changed", s.workspace.ID)
		}
		s.workspace = w
		return nil
	})
}

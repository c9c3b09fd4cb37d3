package local

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

// errUnchanged ends an edit that finds everything as it is to be.
var errUnchanged = errors.New("unchanged")

// edit replaces the file by a changed one, under the write lock. An edit that
// fails, or changes nothing, leaves it alone.
func (r *Registry) edit(ctx context.Context, change func(*roster) error) error {
	release, err := r.files.lockForWriting(ctx, r.dir)
	if err != nil {
		return fmt.Errorf("editing the registry: %w", err)
	}
	defer release()
	current, err := r.current()
	if err != nil {
		return err
	}
	next := current.copy()
	if err := change(next); errors.Is(err, errUnchanged) {
		return nil
	} else if err != nil {
		return err
	}
	next.Version++
	if err := r.tell(current, next); err != nil {
		return err
	}
	return r.write(next)
}

func (r *roster) copy() *roster {
	next := *r
	next.was, next.text = r, nil
	next.Principals = r.copyPrincipals()
	next.Keys = slices.Clone(r.Keys)
	return &next
}

func (r *Registry) write(next *roster) error {
	text, err := next.encode()
	if err != nil {
		return fmt.Errorf("editing the registry: %w", err)
	}
	if err := r.files.replace(r.path(), r.dir, text, registryMode); err != nil {
		return fmt.Errorf("writing the registry: %w", err)
	}
	return nil
}

// CreatePrincipal adds a principal.
func (r *Registry) CreatePrincipal(ctx context.Context, p access.Principal) error {
	return r.edit(ctx, func(next *roster) error { return next.addPrincipal(p) })
}

// EnsurePrincipal returns the principal that stands for the same person or
// program as p: the one of its type with the same e-mail or, when neither has
// one, as with service accounts, the same name. Only when there is none is p added. One that
// exists is returned as it is, whatever its roles.
func (r *Registry) EnsurePrincipal(ctx context.Context, p access.Principal) (found access.Principal, created bool, err error) {
	err = r.edit(ctx, func(next *roster) error {
		if i := slices.IndexFunc(next.Principals, func(other access.Principal) bool { return p.Same(other) }); i >= 0 {
			found = next.Principals[i]
			return errUnchanged
		}
		found, created = p, true
		return next.addPrincipal(p)
	})
	if err != nil {
		return access.Principal{}, false, err
	}
	return found, created, nil
}

func (r *roster) addPrincipal(p access.Principal) error {
	var problems []error
	if _, taken := r.principals[p.ID]; taken {
		problems = append(problems, fmt.Errorf("there is a principal with the id %s already", p.ID))
	}
	problems = append(problems, p.Check())
	p.Roles = append([]string{}, p.Roles...)
	r.Principals = append(r.Principals, p)
	return errors.Join(problems...)
}

// SetDisabled disables a principal, so that none of its keys is let in, or
// enables it again.
func (r *Registry) SetDisabled(ctx context.Context, id access.ID, disabled bool) error {
	return r.editPrincipal(ctx, id, func(p *access.Principal) error {
		if p.Disabled == disabled {
			return errUnchanged
		}
		p.Disabled = disabled
		return nil
	})
}

// SetRoles gives a principal these roles in the place of those it has.
func (r *Registry) SetRoles(ctx context.Context, id access.ID, roles []string) error {
	return r.editPrincipal(ctx, id, func(p *access.Principal) error {
		if slices.Equal(p.Roles, roles) {
			return errUnchanged
		}
		p.Roles = append([]string{}, roles...)
		return access.CheckRoles(roles)
	})
}

func (r *Registry) editPrincipal(ctx context.Context, id access.ID, change func(*access.Principal) error) error {
	return r.edit(ctx, func(next *roster) error {
		i, known := next.principals[id]
		if !known {
			return control.NoEntry("principal", id)
		}
		return change(&next.Principals[i])
	})
}

// CreateKey adds the record of a key whose principal exists.
func (r *Registry) CreateKey(ctx context.Context, record access.KeyRecord) error {
	return r.edit(ctx, func(next *roster) error {
		if err := next.checkKey(record); err != nil {
			return err
		}
		next.Keys = append(next.Keys, record)
		return nil
	})
}

func (r *roster) checkKey(record access.KeyRecord) error {
	var problems []error
	if record.Kind.Prefix() == "" {
		problems = append(problems, errors.New("a key is of kind user, service_account, public_sdk or secret_sdk"))
	}
	if record.WorkspaceID != r.Workspace.ID {
		problems = append(problems, fmt.Errorf("the key belongs to the workspace %s, and this is %s", record.WorkspaceID, r.Workspace.ID))
	}
	if record.Digest == (access.Digest{}) {
		problems = append(problems, errors.New("the key has no digest"))
	}
	if _, known := r.principals[record.PrincipalID]; !known {
		problems = append(problems, control.NoEntry("principal", record.PrincipalID))
	}
	return errors.Join(problems...)
}

// RevokeKey revokes a key and returns its record. One that is revoked already
// keeps its date.
func (r *Registry) RevokeKey(ctx context.Context, id access.ID, at time.Time) (access.KeyRecord, error) {
	var record access.KeyRecord
	err := r.edit(ctx, func(next *roster) error {
		i, known := next.keys[id]
		if !known {
			return control.NoEntry("key", id)
		}
		key := &next.Keys[i]
		revoked := !key.RevokedAt.IsZero()
		if !revoked {
			key.RevokedAt = at
		}
		record = *key
		if revoked {
			return errUnchanged
		}
		return nil
	})
	return record, err
}

// SetWorkspace changes the workspace's record. Its id stays what it is: every
// key names it.
func (r *Registry) SetWorkspace(ctx context.Context, change func(*control.Workspace)) error {
	return r.edit(ctx, func(next *roster) error {
		w := next.Workspace.workspace()
		w.Secret = slices.Clone(w.Secret)
		change(&w)
		if w.ID != string(next.Workspace.ID) {
			return fmt.Errorf("the workspace's id is %s and cannot be changed", next.Workspace.ID)
		}
		record := recordOfWorkspace(w)
		if reflect.DeepEqual(record, next.Workspace) {
			return errUnchanged
		}
		next.Workspace = record
		return nil
	})
}

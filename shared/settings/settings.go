// Package settings is what people who are signed in manage beside documents: principals,
// keys, environments, webhooks, and the audit trail of all that.
//
// The rules of principals and keys are access.Registry's, and those of environments are
// provision's, as for the command line. What must stay true here:
//
//   - Only an administrator manages what is not their own. Everybody makes, sees and revokes
//     user keys of their own, and makes none for anybody else.
//   - The text of a key, or a webhook's secret, is in the answer that makes it, and nowhere else.
//   - What is done is told in the audit trail under the name of who did it.
package settings

import (
	"context"
	"errors"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/webhook"
)

// Stores are where the settings of a workspace are.
type Stores struct {
	Registry *access.Registry
	// Workspace reads the workspace's record.
	Workspace func(ctx context.Context) (*provision.Workspace, error)
	// Audit are the newest so many events, oldest first.
	Audit func(ctx context.Context, newest int) ([]audit.Event, error)
	// Webhooks manages webhooks. Whose edits they are is filled in.
	Webhooks func() *webhook.Manager
	Now      func() time.Time
}

// Settings are those of a workspace, as somebody may see and change them.
type Settings struct {
	Stores
	by access.Principal
}

// Of returns the settings for somebody.
func Of(s Stores, by access.Principal) *Settings {
	s.Registry = s.Registry.By(by.Words())
	return &Settings{s, by}
}

func (s *Settings) administers() bool { return access.Administers(s.by.EffectiveRoles()) }

// administer refuses whoever is no administrator.
func (s *Settings) administer(what string) error {
	if s.administers() {
		return nil
	}
	return fault.New(fault.Forbidden, "%s needs the role admin; ask somebody who has it", what).With(map[string]any{"code": refusal.CodePermission})
}

// failed words what a registry or a repository refuses.
func failed(err error) error {
	switch {
	case errors.Is(err, access.ErrNotFound):
		return fault.New(fault.NotFound, "%v", err)
	case errors.Is(err, access.ErrOtherRoles), errors.Is(err, access.ErrOtherType), errors.Is(err, access.ErrLinked), errors.Is(err, access.ErrTaken), errors.Is(err, access.ErrSeveral), errors.Is(err, access.ErrOver), errors.Is(err, access.ErrDisabled):
		return fault.New(fault.Conflict, "%v", err)
	}
	return repository.Fault(err)
}

// wrong refuses what is wrong with a request by itself.
func wrong(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.BadRequest, "%v", err)
}

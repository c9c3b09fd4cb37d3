package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/workspace"
)

// Session is one authenticated request. It is used by one goroutine.
type Session struct {
	service *Service
	caller  Caller
	use     Use
	opened  *served.Head
	// lastEvaluated waits for what lists say of evaluations; nil: nobody has asked yet.
	lastEvaluated func() *telemetry.Evaluated
}

// Open reads everything at the head, which is in memory most of the time. The number of
// its view is the same for all sessions of the workspace as long as nothing is written,
// and no file that was lost comes back.
func (s *Session) Open(ctx context.Context) (*served.Head, error) {
	if s.opened != nil {
		return s.opened, nil
	}
	err := s.atHead(ctx, func(repo Repository, head repository.Head) error {
		snapshot, err := repo.Snapshot(ctx, head)
		if err != nil {
			return err
		}
		s.opened, err = s.service.served.Open(ctx, s.caller.entry.Workspace.ID, repo, snapshot)
		return err
	})
	return s.opened, err
}

// maxRenewals bounds how often a request begins again with another head.
const maxRenewals = 3

// atHead asks a repository for something at the session's head. Where a forced
// push has just taken that head out of the history, the request is authenticated
// again and asks at the new one.
func (s *Session) atHead(ctx context.Context, ask func(repo Repository, head repository.Head) error) error {
	repo, err := s.repository(ctx)
	if err != nil {
		return err
	}
	for renewals := 0; ; renewals++ {
		err := ask(repo, s.caller.entry.Head)
		gone := errors.Is(err, repository.ErrMoved) || errors.Is(err, repository.ErrUnknownCommit)
		if !gone || renewals == maxRenewals {
			return repository.Fault(err)
		}
		fresh, err := s.again(ctx)
		if err != nil {
			return err
		}
		s.caller.entry = fresh.caller.entry
	}
}

// Changes makes the caller's changes.
func (s *Session) Changes() *change.Writer { return s.changes(s.caller.once) }

// changes makes them under what ledgers call an Idempotency-Key.
func (s *Session) changes(once string) *change.Writer {
	own := *s
	s = &own
	renew := s.caller.once != once
	s.caller.once = once
	return s.service.changes.Writer(func(ctx context.Context, again bool) (*change.State, error) {
		now := s
		if again || renew {
			var err error
			if now, err = s.again(ctx); err != nil {
				return nil, err
			}
		}
		repo, err := now.repository(ctx)
		entry := &now.caller.entry
		return &change.State{Workspace: entry.Workspace, Principal: entry.Principal, Head: entry.Head, Repository: repo,
			Feed: now.Feed(), Once: now.caller.once, Landed: entry.Landed, Now: entry.Now, Bypassed: s.bypassed(), Reads: s.use != Write && s.use != Undo}, err
	})
}

// Requests are the workspace's change requests, for the caller. Operations reads what one is
// made of; once tells a request that its client may send again, nil for others.
func (s *Session) Requests(id string, once *change.Idempotency, operations func(*jsontree.Node) ([]change.Operation, error)) (*request.Desk, error) {
	settings := &s.service.settings
	if settings.Requests.Table == nil {
		return nil, fault.New(fault.NotFound, "change requests are of a workspace that a service keeps; here a pull request is reviewed, as the guide Check and review says")
	}
	workspace := s.caller.entry.Workspace
	return &request.Desk{Store: settings.Requests, Workspace: workspace, By: s.caller.entry.Principal, Registry: settings.Registry(workspace.ID, s.caller.entry.Principal),
		Now: settings.Now, Writer: s.changes, Operations: operations, ID: id, Once: once, OnceID: s.caller.once}, nil
}

// bypassed tells the audit trail that the caller does without approvals; nil where none is.
func (s *Session) bypassed() func(ctx context.Context, environments []string) error {
	if s.service.settings.Registry == nil {
		return nil
	}
	return func(ctx context.Context, environments []string) error {
		registry := s.service.settings.Registry(s.caller.entry.Workspace.ID, s.caller.entry.Principal)
		return repository.Fault(registry.Bypassed(ctx, environments))
	}
}

// Topic is the one of SNS that the guard's key takes alarms of; "" for none.
func (s *Session) Topic() string { return s.caller.entry.Key.Topic }

// HeldUp tells the audit trail of what a guard has not taken back, and why: once for a
// commit and an alert, which comes again and again while it fires.
func (s *Session) HeldUp(ctx context.Context, commit, alert, why string) error {
	if s.service.settings.Registry == nil {
		return nil
	}
	registry := s.service.settings.Registry(s.caller.entry.Workspace.ID, s.caller.entry.Principal)
	c := access.Change{Action: access.GuardHeldUp, Subject: commit, Owner: s.caller.entry.Principal.ID, After: []string{alert, why}}
	return repository.Fault(registry.NoteOnce(ctx, c, func(told access.Change) bool {
		return told.Action == c.Action && told.Subject == c.Subject && told.Owner == c.Owner && len(told.After) > 0 && told.After[0] == alert
	}))
}

// Feed tells of the workspace's commits.
func (s *Session) Feed() *feed.Reader {
	return s.service.feed.Of(s.caller.entry.Workspace, s.caller.entry.Principal.ID, history{s})
}

// cursors are those of the workspace's lists.
func (s *Session) cursors() feed.Cursors { return feed.Cursors{Workspace: s.caller.entry.Workspace} }

// history is a session's workspace as its feed reads it.
type history struct{ session *Session }

func (h history) History(ctx context.Context, page repository.Page) (commits []repository.Commit, err error) {
	err = h.session.atHead(ctx, func(repo Repository, head repository.Head) error {
		commits, err = repo.History(ctx, head, page)
		return err
	})
	return commits, err
}

func (h history) Text(ctx context.Context, path, commit string) ([]byte, error) {
	if commit == "" {
		return nil, nil
	}
	repo, err := h.session.repository(ctx)
	if err != nil {
		return nil, err
	}
	_, text, err := repo.At(ctx, h.session.caller.entry.Head, path, commit)
	if errors.Is(err, repository.ErrAbsent) || errors.Is(err, repository.ErrUnknownCommit) {
		return nil, nil
	}
	if errors.As(err, new(*workspace.Unread)) {
		err = nil
	}
	if err == nil && text == nil {
		text = []byte{} // a file, if an empty one
	}
	return text, repository.Fault(err)
}

func (h history) KnowsEnvironment(ctx context.Context, name string) error {
	return h.session.knownEnvironment(ctx, name)
}

func (s *Session) repository(ctx context.Context) (Repository, error) {
	repo, err := s.service.settings.Repository(ctx, s.caller.entry.Workspace.ID)
	return repo, repository.Fault(err)
}

// Principal is the one that the key acts as.
func (s *Session) Principal() access.Principal { return s.caller.entry.Principal }

// Key is the record of the key, or of the session, that the request brought.
func (s *Session) Key() access.KeyRecord { return s.caller.entry.Key }

// Whoami is the principal and the workspace behind a key.
type Whoami struct {
	WorkspaceID string          `json:"workspaceId"`
	KeyID       string          `json:"keyId"`
	Principal   WhoamiPrincipal `json:"principal"`
	// Permissions are those to edit.
	Permissions []access.Permission `json:"permissions"`
}

// WhoamiPrincipal is who a key acts as.
type WhoamiPrincipal struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Whoami says whose key this is. It reads nothing more.
func (s *Session) Whoami() Whoami {
	p := s.caller.entry.Principal
	return Whoami{
		WorkspaceID: s.caller.entry.Workspace.ID,
		KeyID:       string(s.caller.entry.Key.ID),
		Principal:   WhoamiPrincipal{Type: string(p.Type), ID: string(p.ID), Name: p.Name},
		Permissions: append([]access.Permission{}, access.Permissions(p.EffectiveRoles())...),
	}
}

// WorkspaceList is the one workspace of a key, in a list.
type WorkspaceList struct {
	Workspaces []WorkspaceRow `json:"workspaces"`
}

// WorkspaceRow is a workspace's identity.
type WorkspaceRow struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Workspaces lists the workspace of the key. It reads nothing more.
func (s *Session) Workspaces() WorkspaceList {
	return WorkspaceList{[]WorkspaceRow{{s.caller.entry.Workspace.ID, s.caller.entry.Workspace.Name}}}
}

// EnvironmentList is the active environments.
type EnvironmentList struct {
	Environments []EnvironmentRow `json:"environments"`
}

// EnvironmentRow is one environment.
type EnvironmentRow struct {
	Name            string `json:"name"`
	EnvironmentType string `json:"environmentType"`
	Protected       bool   `json:"protected"`
}

// Environments lists the environments that are not archived: development,
// test, staging, production, alphabetical within a type.
func (s *Session) Environments(ctx context.Context) (*EnvironmentList, error) {
	o, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	list := &EnvironmentList{[]EnvironmentRow{}}
	for _, e := range o.View.Workspace().Environments {
		if !e.Archived {
			list.Environments = append(list.Environments, EnvironmentRow{e.Name, e.Type, e.Protected})
		}
	}
	return list, nil
}

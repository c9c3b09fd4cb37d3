package provision

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Audit is who made, revoked and changed which key, role and environment, oldest first:
// the newest so many events, or with 0 all.
func (w *Workspace) Audit(ctx context.Context, registry *access.Registry, newest int) ([]audit.Event, error) {
	entries, err := registry.Audit(ctx, newest)
	if err != nil {
		return nil, err
	}
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return nil, err
	}
	commits, err := w.Repository.History(ctx, head, repository.Page{Path: workspace.File, Limit: newest})
	if err != nil {
		return nil, err
	}
	var environments []audit.Event
	for i := len(commits) - 1; i >= 0; i-- { // they come newest first
		before, err := w.declarationAt(ctx, head, commits[i].Parent)
		if err != nil {
			return nil, err
		}
		after, err := w.declarationAt(ctx, head, commits[i].SHA)
		if err != nil {
			return nil, err
		}
		environments = append(environments, audit.EnvironmentEvents(commits[i], before, after)...)
	}
	return audit.Events(entries, environments, newest), nil
}

// declarationAt is the workspace file as it was in a commit; nil where there
// was none.
func (w *Workspace) declarationAt(ctx context.Context, head repository.Head, commit string) ([]byte, error) {
	if commit == "" {
		return nil, nil
	}
	_, text, err := w.Repository.At(ctx, head, workspace.File, commit)
	if errors.Is(err, repository.ErrAbsent) || errors.As(err, new(*workspace.Unread)) {
		return nil, nil
	}
	return text, err
}

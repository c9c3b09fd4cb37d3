package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
)

// Creation is a workspace to be made.
type Creation struct {
	Name   string
	Source *source.Source // nil: an empty workspace
	// Author is whose the first commit of files is.
	Author repository.Signature
	// Progress hears of a long history; it may be nil.
	Progress Progress
}

// Progress hears how far something has come: doing what, so many of so many of
// what.
type Progress func(doing, unit string) func(done, total int)

// begin is never nil.
func (p Progress) begin(doing, unit string) func(done, total int) {
	if p != nil {
		if step := p(doing, unit); step != nil {
			return step
		}
	}
	return func(int, int) {}
}

// Create makes a workspace. Its objects are stored first; while its history is
// put into the table it is being provisioned, and lets nobody in.
func (s *Stores) Create(ctx context.Context, c Creation) (*Workspace, error) {
	record, err := access.NewWorkspace(rand.Reader, c.Name)
	if err != nil {
		return nil, err
	}
	if c.Source != nil && c.Source.Verify != nil {
		return nil, c.Source.Verify
	}
	record.Provisioning = true
	w := s.workspace(record)
	if err := w.objects.Init(ctx); err != nil {
		return nil, err
	}
	var history *mirror
	if c.Source != nil && c.Source.Git != nil {
		if history, err = w.upload(ctx, c.Source.Git, c.Progress); err != nil {
			return nil, err
		}
		defer history.close()
	}
	if err := s.table.CreateWorkspace(ctx, record); err != nil && !errors.Is(err, dynamo.ErrExists) {
		return nil, err // an id is random: one that exists is our own
	}
	if err := w.fill(ctx, c, history); err != nil {
		return nil, fmt.Errorf("the workspace %s (%s) was not completed and accepts no keys; you can create another: %w", w.Name, w.ID, err)
	}
	return w, nil
}

func (w *Workspace) fill(ctx context.Context, c Creation, history *mirror) error {
	switch {
	case history != nil:
		if err := w.importHistory(ctx, history, c.Source.Git.Commit(), c.Progress); err != nil {
			return err
		}
	case c.Source != nil:
		if err := w.Import(ctx, c.Source.Name, c.Source.Files, c.Author); err != nil {
			return err
		}
	}
	err := w.Registry().By(c.Author.Name+" <"+c.Author.Email+">").SetWorkspace(ctx, func(r *access.Workspace) { r.Provisioning = false })
	w.Provisioning = err != nil
	return err
}

// IssueKey issues a key of the workspace. By is who does, for the audit trail.
func (w *Workspace) IssueKey(ctx context.Context, by string, q access.KeyRequest) (access.Key, access.Principal, error) {
	if q.Environment != "" {
		ws, err := w.Read(ctx)
		if err == nil {
			err = ws.CheckEnvironment(q.Environment)
		}
		if err != nil {
			return access.Key{}, access.Principal{}, err
		}
	}
	return w.Registry().By(by).IssueKey(ctx, q)
}

// Package provision makes the changes of a workspace that are no change of a document: its
// first commit and its environments. Access to its stores is enough; no role is checked.
//
// What must stay true: each change is one commit, on the head that it was decided on.
package provision

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
)

// Ledger is what there has to be of a workspace's ledger.
type Ledger interface {
	Head(ctx context.Context) (repository.Head, error)
}

// Workspace is a workspace in its stores.
type Workspace struct {
	access.Workspace
	// Repository has the workspace's history.
	Repository change.Repository
	// Bypassed tells the audit trail of a change that others had to approve; nil where none
	// is made without that.
	Bypassed func(ctx context.Context, environments []string) error

	ledger   Ledger
	bypassed []string // what it was told of
}

// New makes no request.
func New(w access.Workspace, ledger Ledger, repo change.Repository) *Workspace {
	return &Workspace{Workspace: w, Repository: repo, ledger: ledger}
}

// Snapshot reads everything at the head.
func (w *Workspace) Snapshot(ctx context.Context) (*repository.Snapshot, error) {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return nil, err
	}
	return w.Repository.Snapshot(ctx, head)
}

// Commit is the repository's. What others have to approve is made without that once the
// audit trail knows: the head is another one then.
func (w *Workspace) Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	environments, err := base.Reviewed(draft.Changes)
	if err != nil {
		return nil, err
	}
	told := !slices.ContainsFunc(environments, func(name string) bool { return !slices.Contains(w.bypassed, name) })
	if told && len(w.bypassed) > 0 {
		draft.Approved, draft.Message = true, strings.TrimRight(draft.Message, "\n")+"\n\n"+feed.ReviewBypassed+strings.Join(w.bypassed, ", ")+"\n"
	}
	landed, err := w.Repository.Commit(ctx, base, draft)
	unreviewed, is := errors.AsType[*repository.Unreviewed](err)
	if !is || w.Bypassed == nil {
		return landed, err
	}
	if err := w.Bypassed(ctx, unreviewed.Environments); err != nil {
		return nil, err
	}
	w.bypassed = unreviewed.Environments
	return nil, repository.ErrMoved
}

// Import makes the first commit, of the files of a source.
func (w *Workspace) Import(ctx context.Context, source string, files map[string][]byte, by repository.Signature) error {
	draft := repository.Draft{Message: "Import " + source + "\n", Author: by, Committer: repository.Committer(by.When), Versions: w.Versions, Briefs: w.Briefs}
	for path, content := range files {
		if repository.IsFile(path) {
			draft.Changes = append(draft.Changes, repository.Change{Path: path, Content: content})
		}
	}
	empty, err := w.Snapshot(ctx)
	if err == nil {
		_, err = w.Repository.Commit(ctx, empty, draft)
	}
	return err
}

// Versions are those of what is served after a commit, for its head.
func (w *Workspace) Versions(_ context.Context, next *repository.Snapshot) string {
	versions, _ := served.Stored(next, w.Secret, time.Now())
	return versions
}

// Briefs are those of a snapshot that a commit leads to.
func (w *Workspace) Briefs(_ context.Context, next *repository.Snapshot) []byte {
	_, briefs := served.Stored(next, w.Secret, time.Now())
	return briefs
}

// filesOf are the layout's files of a snapshot.
func filesOf(s *repository.Snapshot) map[string][]byte {
	all := make(map[string][]byte, len(s.Files))
	for _, f := range s.Files {
		all[f.Path] = f.Text
	}
	return all
}

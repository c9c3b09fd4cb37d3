// Package provision makes the changes of a workspace that are no change of a document: its
// first commit and its environments. Access to its stores is enough; no role is checked.
//
// What must stay true: each change is one commit, on the head that it was decided on.
package provision

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
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
	ledger     Ledger
}

// New makes no request.
func New(w access.Workspace, ledger Ledger, repo change.Repository) *Workspace {
	return &Workspace{w, repo, ledger}
}

// Snapshot reads everything at the head.
func (w *Workspace) Snapshot(ctx context.Context) (*repository.Snapshot, error) {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return nil, err
	}
	return w.Repository.Snapshot(ctx, head)
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

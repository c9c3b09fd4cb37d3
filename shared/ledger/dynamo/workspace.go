package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// ErrExists: there is a workspace of that id already.
var ErrExists = errors.New("the workspace exists already")

// CreateWorkspace adds a workspace without commits, principals and keys.
func (t *Table) CreateWorkspace(ctx context.Context, w access.Workspace) error {
	const what = "creating the workspace"
	if err := w.Check(); err != nil {
		return err
	}
	id := access.ID(w.ID)
	head := newHead(w, Format, 1)
	listed := rowOf(keyOf(workspacesPartition, string(id)))
	listed.Attributes["name"] = table.Text(w.Name)
	err := t.db.Transact(ctx, put(head, table.NoRow()), put(listed))
	if !errors.Is(err, table.ErrRefused) {
		return err
	}
	// The workspace that is there may be the one just made, whose making has only
	// not been confirmed: nobody else draws the same index.
	there, _, err := t.headRow(ctx, id)
	if err == nil && there.Text("index") != head.Text("index") {
		err = fmt.Errorf("%s: %w", id, ErrExists)
	}
	return err
}

// newHead is the head of a workspace without commits.
func newHead(w access.Workspace, format, version int64) item {
	head := rowOf(headKey(access.ID(w.ID)))
	putWorkspace(head.Attributes, w)
	putHead(head.Attributes, repository.Head{Index: newIndex()})
	head.Attributes["format"], head.Attributes["access"] = table.Number(format), table.Number(version)
	return head
}

// newIndex names a set of rows that no other head will name.
func newIndex() string { return strings.ToLower(rand.Text()[:10]) }

// Workspace returns the record of a workspace. It reads the head alone.
func (t *Table) Workspace(ctx context.Context, id access.ID) (access.Workspace, error) {
	i, _, err := t.headRow(ctx, id)
	if err != nil {
		return access.Workspace{}, err
	}
	return workspaceOf(id, i), nil
}

// Workspaces lists all workspaces, by id. Those that a newer version has stored
// are left out, and come as a repository.ErrNewer that names each.
func (t *Table) Workspaces(ctx context.Context) ([]access.Workspace, error) {
	ids, err := t.WorkspaceIDs(ctx)
	if err != nil {
		return nil, err
	}
	var all []access.Workspace
	var newer []error
	for _, id := range ids {
		switch w, err := t.Workspace(ctx, id); {
		case err == nil:
			all = append(all, w)
		case errors.Is(err, repository.ErrNewer):
			newer = append(newer, err)
		case !errors.Is(err, access.ErrNotFound):
			return nil, err
		}
	}
	return all, errors.Join(newer...)
}

// WorkspaceIDs lists the ids of all workspaces, in their order. It reads no
// head.
func (t *Table) WorkspaceIDs(ctx context.Context) ([]access.ID, error) {
	var all []access.ID
	q := table.Query{Partition: workspacesPartition}
	err := t.db.Query(ctx, q, func(i item) (bool, error) {
		all = append(all, access.ID(i.Sort))
		return true, nil
	})
	return all, err
}

package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
)

// Orphaned lists the workspaces of which there are objects in the bucket and no head in
// the table.
func (s *Stores) Orphaned(ctx context.Context) ([]access.ID, error) {
	ids := map[access.ID]bool{}
	for info, err := range s.bucket.Folder(ctx, "workspaces/") {
		if err != nil {
			return nil, err
		}
		id, malformed := access.ParseID(strings.TrimSuffix(strings.TrimPrefix(info.Key, "workspaces/"), "/"))
		if !info.Folder || malformed != nil {
			continue
		}
		if _, err := s.table.Workspace(ctx, id); isLost(err) {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// Recovery is a workspace to be made of what the bucket has, where the table is lost.
type Recovery struct {
	ID       access.ID
	Name     string
	Commit   string // to be the head; "" is the only one that could be
	Checking Checking
}

// ErrTips: there is not the one commit that could be the head.
var ErrTips = errors.New("it is not one commit that could be the head: name one with --head")

// Recover makes a workspace of its objects in the bucket: its history and documents, the
// same commits. Keys, roles, audit trail and telemetry were the table's, and are lost with
// it. Tips are those that there are, where it has to be told which is to be the head.
func (s *Stores) Recover(ctx context.Context, r Recovery) (w *Workspace, tips []Tip, err error) {
	record, err := access.NewWorkspace(rand.Reader, r.Name)
	if err != nil {
		return nil, nil, err
	}
	record.ID = string(r.ID)
	if r.Commit == "" {
		if tips, err = s.workspace(record).Tips(ctx, r.Checking); err != nil {
			return nil, tips, err
		}
		whole := slices.DeleteFunc(slices.Clone(tips), func(t Tip) bool { return t.Lacks != "" || t.Rival })
		if len(whole) != 1 {
			return nil, tips, ErrTips
		}
		r.Commit = whole[0].SHA
	}
	table, _, err := s.table.BeginRestore(ctx, record, 1)
	if errors.Is(err, dynamo.ErrExists) {
		return nil, nil, fmt.Errorf("there is a workspace %s in this table: svcadmin reindex --head makes another commit its head", r.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	own := *s
	own.table = table
	unopened := own.workspace(record)
	if _, err := unopened.Reindex(ctx, r.Commit, r.Checking); err != nil {
		return nil, nil, unfinished(record, err)
	}
	found, err := unopened.Check(ctx, r.Checking)
	for _, p := range found.Problems {
		err = errors.Join(err, errors.New(p.What))
	}
	if err != nil {
		return nil, nil, unfinished(record, err)
	}
	return s.workspace(record), nil, table.EndRestore(ctx, record)
}

func unfinished(w access.Workspace, err error) error {
	return fmt.Errorf("the workspace %s (%s) was not completed and serves nobody; do it again: %w", w.Name, w.ID, err)
}

package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// restoringName is the attribute of a head that names who restores the workspace.
const restoringName = "restoring"

// ErrRestored: somebody else restores the workspace too, or has ended to.
var ErrRestored = errors.New("somebody else restores this workspace at the same time")

// BeginRestore makes the head of a workspace that is to be restored, which nobody is
// served from, and returns the table as its restorer sees it. A workspace that is there
// and whole is ErrExists. One whose restore was interrupted starts over: again says so,
// or that there are rows without a head.
//
// What this workspace has of keys, principals, audit and last uses is removed first: a
// key of an earlier attempt that the archive does not have must not open it. Rows of its
// history are under another index, which Sweep removes.
func (t *Table) BeginRestore(ctx context.Context, w access.Workspace, version int64) (restoring *Table, again bool, err error) {
	if err := w.Check(); err != nil {
		return nil, false, err
	}
	id := access.ID(w.ID)
	restoring = &Table{db: t.db, restoring: rand.Text()}
	before, _, err := t.db.GetOne(ctx, headKey(id))
	if err != nil {
		return nil, false, err
	}
	again = before != nil
	head := newHead(w, unfinished, version)
	head.Attributes[restoringName], head.Attributes["provisioning"] = table.Text(restoring.restoring), table.Truth(true)
	err = t.db.Transact(ctx, put(head, table.Any(table.NoRow(), table.Has(restoringName))))
	if errors.Is(err, table.ErrRefused) {
		return nil, false, fmt.Errorf("%s: %w", id, ErrExists)
	}
	if err != nil {
		return nil, false, err
	}
	removed, err := restoring.removeAll(ctx, id)
	return restoring, again || removed > 0, err
}

// removeAll removes what BeginRestore says.
func (t *Table) removeAll(ctx context.Context, ws access.ID) (removed int, err error) {
	for _, partition := range []string{accessPartition(ws), auditPartition(ws), usedPartition(ws), oncePartition(ws)} {
		var rows []table.Key
		flush := func() error {
			err := t.db.Batch(ctx, removals(rows))
			removed, rows = removed+len(rows), nil
			return err
		}
		q := table.Query{Partition: partition, Only: []string{"c"}}
		err := t.db.Query(ctx, q, func(i item) (bool, error) {
			if rows = append(rows, i.Key); len(rows) < rowsAtOnce {
				return true, nil
			}
			return true, flush()
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// Restored is what a workspace has beside its history, as it is stored.
type Restored struct {
	Principals, Keys []json.RawMessage
	Version          int64 // of these
	Uses             map[access.ID]string
	Answers          []repository.Answered // whose commits the head will have: where those stand is looked for then
	// Audit calls for the entries of the audit trail, each with its version.
	Audit func(each func(version int64, doc []byte) error) error
}

// PutRestored writes all of it.
func (t *Table) PutRestored(ctx context.Context, ws access.ID, r Restored) error {
	rows, err := accessRows(ws, r)
	if err != nil {
		return err
	}
	for key, day := range r.Uses {
		row := rowOf(keyOf(usedPartition(ws), string(key)))
		row.Attributes["d"] = table.Text(day)
		rows = append(rows, row)
	}
	for _, a := range r.Answers {
		rows = append(rows, rowOfAnswer(ws, a))
	}
	put := func() error {
		_, _, err := t.headRow(ctx, ws) // has somebody else begun to restore it?
		if err == nil {
			err = t.db.Batch(ctx, puts(rows))
		}
		rows = nil
		return err
	}
	err = r.Audit(func(version int64, doc []byte) error {
		row := rowOf(keyOf(auditPartition(ws), auditSort(version)))
		row.Attributes["doc"] = table.Text(string(doc))
		if rows = append(rows, row); len(rows) < rowsAtOnce {
			return nil
		}
		return put()
	})
	if err != nil {
		return err
	}
	return put()
}

func accessRows(ws access.ID, r Restored) (rows []item, err error) {
	for kind, docs := range map[string][]json.RawMessage{"principal": r.Principals, "key": r.Keys} {
		for n, doc := range docs {
			var named struct {
				ID access.ID `json:"id"`
			}
			if err := json.Unmarshal(doc, &named); err != nil {
				return nil, fmt.Errorf("%s %d: %w", kind, n, err)
			}
			row := rowOf(keyOf(accessPartition(ws), kind+"/"+string(named.ID)))
			row.Attributes = table.Attributes{"doc": table.Text(string(doc)), "version": table.Number(r.Version), "made": table.Number(int64(n + 1))}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// EndRestore lets everybody in, as the record says, in one step.
func (t *Table) EndRestore(ctx context.Context, w access.Workspace) error {
	id := access.ID(w.ID)
	head := table.Attributes{"format": table.Number(Format)}
	putWorkspace(head, w)
	open := table.Write{Key: headKey(id), Set: head, Unset: []string{restoringName}, If: []table.Condition{t.isOurs()}}
	listed := rowOf(keyOf(workspacesPartition, w.ID))
	listed.Attributes["name"] = table.Text(w.Name)
	err := t.db.Transact(ctx, open, put(listed))
	if !errors.Is(err, table.ErrRefused) && !errors.Is(err, table.ErrUnknown) {
		return err
	}
	// An answer that got lost is one of ours; another's index is another's work.
	whole := &Table{db: t.db}
	if _, _, unread := whole.headRow(ctx, id); unread != nil {
		return errors.Join(err, unread)
	}
	if errors.Is(err, table.ErrUnknown) {
		return nil
	}
	return fmt.Errorf("workspace %s: %w", id, ErrRestored)
}

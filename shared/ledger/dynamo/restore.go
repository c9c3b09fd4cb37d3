package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
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
	before, _, err := t.db.Get(ctx, "looking for the workspace", headKey(id))
	if err != nil {
		return nil, false, err
	}
	again = before != nil
	head := headKey(id)
	putWorkspace(head, w)
	maps.Copy(head, item{
		"format": dynamo.Number(unfinished), restoringName: dynamo.Text(restoring.restoring),
		"commit": dynamo.Text(""), "sequence": dynamo.Number(0), "access": dynamo.Number(version), "index": dynamo.Text(newIndex()),
		"baseName": dynamo.Text(""), "baseSequence": dynamo.Number(0), "baseFollow": dynamo.Number(0), "baseBytes": dynamo.Number(0),
		"provisioning": dynamo.Bool(true),
	})
	_, err = t.db.Write(ctx, "beginning to restore the workspace", t.db.Put(head,
		dynamo.Missing(dynamo.HashKey).Or(expression.Name(restoringName).AttributeExists())))
	if errors.Is(err, dynamo.ErrRefused) {
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
		var rows []item
		flush := func() error {
			err := t.db.DeleteAll(ctx, rows)
			removed, rows = removed+len(rows), nil
			return err
		}
		q := dynamo.Query{Partition: partition, Attributes: []string{dynamo.HashKey, dynamo.RangeKey}}
		err := t.db.Query(ctx, "removing what is left over", q, func(i item) (bool, error) {
			if rows = append(rows, i); len(rows) < rowsAtOnce {
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

// checkRestoring fails when somebody else has begun to restore the workspace.
func (t *Table) checkRestoring(ctx context.Context, ws access.ID) error {
	_, err := t.headRow(ctx, ws)
	return err
}

// PutAccess writes principals and keys, as Capture has read them.
func (t *Table) PutAccess(ctx context.Context, ws access.ID, c Captured, version int64) error {
	if err := t.checkRestoring(ctx, ws); err != nil {
		return err
	}
	rows, err := accessRows(ws, c, version)
	if err != nil {
		return err
	}
	return t.db.PutAll(ctx, rows)
}

func accessRows(ws access.ID, c Captured, version int64) ([]item, error) {
	var rows []item
	for kind, docs := range map[string][]json.RawMessage{"principal": c.Principals, "key": c.Keys} {
		for n, doc := range docs {
			var named struct {
				ID access.ID `json:"id"`
			}
			if err := json.Unmarshal(doc, &named); err != nil {
				return nil, fmt.Errorf("%s %d: %w", kind, n, err)
			}
			row := dynamo.Key(accessPartition(ws), kind+"/"+string(named.ID))
			row["doc"], row["version"], row["made"] = dynamo.Text(string(doc)), dynamo.Number(version), dynamo.Number(int64(n+1))
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// PutAudit writes entries of the audit trail, each by its access version.
func (t *Table) PutAudit(ctx context.Context, ws access.ID, entries iter.Seq2[int64, []byte]) error {
	var rows []item
	flush := func() error {
		err := t.checkRestoring(ctx, ws)
		if err == nil {
			err = t.db.PutAll(ctx, rows)
		}
		rows = nil
		return err
	}
	for version, doc := range entries {
		row := dynamo.Key(auditPartition(ws), auditSort(version))
		row["doc"] = dynamo.Text(string(doc))
		if rows = append(rows, row); len(rows) >= rowsAtOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// PutUses writes on which days keys were used last.
func (t *Table) PutUses(ctx context.Context, ws access.ID, days map[access.ID]string) error {
	if err := t.checkRestoring(ctx, ws); err != nil {
		return err
	}
	var rows []item
	for key, day := range days {
		row := dynamo.Key(usedPartition(ws), string(key))
		row["d"] = dynamo.Text(day)
		rows = append(rows, row)
	}
	return t.db.PutAll(ctx, rows)
}

// EndRestore lets everybody in, as the record says, in one step.
func (t *Table) EndRestore(ctx context.Context, w access.Workspace) error {
	id := access.ID(w.ID)
	head := item{"format": dynamo.Number(Format)}
	putWorkspace(head, w)
	open := dynamo.Set(head).Remove(expression.Name(restoringName))
	listed := dynamo.Key(workspacesPartition, w.ID)
	listed["name"] = dynamo.Text(w.Name)
	err := t.db.Transact(ctx, "opening the restored workspace", t.db.Update(headKey(id), open, t.isOurs()), t.db.Put(listed))
	if !errors.Is(err, dynamo.ErrRefused) && !errors.Is(err, dynamo.ErrUnknown) {
		return err
	}
	// An answer that got lost is one of ours; another's index is another's work.
	whole := &Table{db: t.db}
	if _, unread := whole.headRow(ctx, id); unread != nil {
		return errors.Join(err, unread)
	}
	if errors.Is(err, dynamo.ErrUnknown) {
		return nil
	}
	return fmt.Errorf("workspace %s: %w", id, ErrRestored)
}

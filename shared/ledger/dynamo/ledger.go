package dynamo

import (
	"context"
	"fmt"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// Ledger is the head and the history of one workspace. It implements
// repository.Ledger and Checkpointed, remembers nothing, and is safe for
// concurrent use.
type Ledger struct {
	table     *Table
	workspace access.ID
}

func (l *Ledger) rows(index string) rows { return rows{workspace: l.workspace, index: index} }

// Head returns the head as it is now.
func (l *Ledger) Head(ctx context.Context) (repository.Head, error) {
	i, _, err := l.table.headRow(ctx, l.workspace, openAttributes...)
	if err != nil {
		return repository.Head{}, err
	}
	return headOf(i), nil
}

// headRow reads some attributes of a head, or all. It also tells the table's own time.
func (t *Table) headRow(ctx context.Context, ws access.ID, attributes ...string) (table.Attributes, time.Time, error) {
	if t.restoring != "" {
		attributes = nil
	}
	i, now, err := t.db.GetOne(ctx, headKey(ws), attributes...)
	switch {
	case err != nil:
	case i == nil:
		err = fmt.Errorf("there is no workspace %s: %w", ws, access.ErrNotFound)
		if _, malformed := access.ParseID(string(ws)); malformed != nil { // and is not repeated
			err = fmt.Errorf("there is no such workspace: %w", malformed)
		}
	default:
		err = t.check(ws, i)
	}
	if err != nil {
		return nil, now, err
	}
	return i, now, nil
}

// How far the head may go on from its base.
const (
	// checkpointAfter commits.
	checkpointAfter = 64
	// checkpointBytes of rows. Those since the base before the last one must
	// fit into one answer, which holds 1 MB.
	checkpointBytes = 400 << 10
)

// Due implements repository.Checkpointed.
func (l *Ledger) Due(from repository.Head, c *repository.Commit) bool {
	if from.Sequence+1-from.Base.Sequence >= checkpointAfter {
		return true
	}
	w := l.rows(from.Index).of(*c, nil)
	c.Rows = w
	return !w.whole || from.Base.Bytes+w.size > checkpointBytes
}

// next is the head that a commit makes of another.
func next(from repository.Head, c repository.Commit, w written) repository.Head {
	to := from
	to.Commit, to.Sequence, to.Versions = c.SHA, from.Sequence+1, c.Versions
	to.Base.Bytes += w.size
	if c.Base != "" {
		to.Base = repository.Base{Name: c.Base, Sequence: to.Sequence, Follow: max(from.Base.Follow, from.Base.Sequence)}
	}
	if !w.whole {
		to.Base.Follow = to.Sequence
	}
	return to
}

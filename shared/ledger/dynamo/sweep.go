package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// RaiseFence makes every writer begin again that has read the head and not moved it
// yet: nothing that was stored before is named by a head, or a list of packs,
// that did not name it already. It returns the fence from now on.
func (l *Ledger) RaiseFence(ctx context.Context) (int64, error) {
	// If an answer is lost it is raised twice, which does no harm.
	raised, err := l.table.db.Update(ctx, table.Write{Key: headKey(l.workspace), Add: map[string]int64{"fence": 1},
		If: []table.Condition{isKnownFormat(), table.ARow()}})
	if errors.Is(err, table.ErrRefused) {
		if _, err := l.Head(ctx); err != nil {
			return 0, err
		}
	}
	return raised.Number("fence"), err
}

// Leftovers are sets of rows that no head names: of an import that was not
// finished, of an index that was replaced, of a large commit that did not land;
// or that may be on their way to be named.
// Their names tell them apart, from one run to the next.
type Leftovers map[string]Note

// Note is the row that tells of such a set.
type Note item

const pendingPrefix = "pending/"

// Leftovers lists the sets of rows that Sweep may remove.
func (l *Ledger) Leftovers(ctx context.Context) (Leftovers, error) {
	head, err := l.Head(ctx)
	if err != nil {
		return nil, err
	}
	left := Leftovers{}
	q := table.Query{Partition: indexPartition(l.workspace)}
	err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
		if name := i.Sort; name != head.Index {
			left[name] = Note(i)
		}
		return true, nil
	})
	return left, err
}

// Sweep removes leftovers, and says how many rows are gone. The caller lists
// them, then raises the fence, then calls this with it. Rows that were begun at
// the fence, or after it, stay: who writes them can still have the head name
// them. Those from before cannot be named any more, unless they are by now. So
// no clock has a say in it, and no pause does harm.
func (l *Ledger) Sweep(ctx context.Context, left Leftovers, fence int64) (removed int, err error) {
	head, err := l.Head(ctx)
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		note := item(left[name])
		n := 0
		switch {
		case note.Number("f") >= fence || name == head.Index:
		case strings.HasPrefix(name, pendingPrefix):
			n, err = l.sweepPending(ctx, head, note, fence)
		default:
			n, err = l.sweepIndex(ctx, note)
		}
		removed += n
		if err != nil {
			break
		}
	}
	return removed, err
}

// sweepIndex removes all rows of an index, those by which the others are found
// last, so that one that was interrupted is ended by the next. Rows may be
// missing or damaged, which may be why they were replaced: touches are taken from
// what can be read. Nobody gives its name to another one.
func (l *Ledger) sweepIndex(ctx context.Context, note item) (removed int, err error) {
	rows := l.rows(note.Sort)
	var items, parts, logs []table.Key
	flush := func() error {
		for _, keys := range []*[]table.Key{&items, &parts, &logs} {
			if err := l.table.db.Batch(ctx, removals(*keys)); err != nil {
				return err
			}
			removed += len(*keys)
			*keys = nil
		}
		return nil
	}
	q := table.Query{Partition: rows.log(), Only: withoutTexts}
	err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
		where := i.Sort
		_, sha, _ := strings.Cut(where, "/") // see place
		logs = append(logs, i.Key)
		parts = append(parts, keyOf(rows.ids(), sha))
		note := func(holder item) {
			for _, name := range []string{"c", "x"} {
				if c, err := decodeCommit(holder.Bytes(name)); err == nil {
					for _, t := range c.Touched {
						items = append(items, keyOf(rows.item(t.Path), where))
					}
				}
			}
		}
		note(i)
		if i.Number("n") > 0 {
			err := l.table.db.Query(ctx, rows.partsOf(sha), func(part item) (bool, error) {
				parts = append(parts, part.Key)
				note(part)
				return true, nil
			})
			if err != nil {
				return false, err
			}
		}
		if len(items)+len(parts)+len(logs) < rowsAtOnce {
			return true, nil
		}
		return true, flush()
	})
	// And those whose row of the log is not there.
	for _, partition := range []string{rows.rest(), rows.ids()} {
		if err == nil {
			err = flush()
		}
		if err == nil {
			q := table.Query{Partition: partition, Only: []string{"c"}}
			err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
				parts = append(parts, i.Key)
				return true, nil
			})
		}
	}
	if err == nil {
		err = flush()
	}
	if err != nil {
		return removed, fmt.Errorf("removing the rows of index %s: %w", rows.index, err)
	}
	return removed, l.table.db.Batch(ctx, removals([]table.Key{note.Key}))
}

// sweepPending ends a large commit that nobody ended. The same commit may be on
// its way once more, under the same keys and another fence.
func (l *Ledger) sweepPending(ctx context.Context, head repository.Head, note item, fence int64) (removed int, err error) {
	where := strings.TrimPrefix(note.Sort, pendingPrefix)
	index, sha, _ := strings.Cut(where, "/")
	rows := l.rows(index)
	var items []table.Key
	// Without the list its rows stay, which are as if they were not there.
	if list, err := unzip().DecodeAll(note.Bytes("c"), nil); err == nil {
		for path := range strings.SplitSeq(string(list), "\x00") {
			items = append(items, keyOf(rows.item(path), place(note.Number("n"), sha)))
		}
	}
	row, _, err := l.table.db.GetOne(ctx, keyOf(rows.ids(), sha))
	if err != nil {
		return 0, err
	}
	if row == nil {
		err = l.table.db.Query(ctx, rows.partsOf(sha), func(i item) (bool, error) {
			items = append(items, i.Key)
			return true, nil
		})
		if err == nil {
			err = l.deleteBefore(ctx, items, fence)
		}
		removed = len(items)
	} else if index == head.Index {
		err = l.unmark(ctx, items)
	}
	if err != nil {
		return 0, err
	}
	return removed, l.deleteBefore(ctx, []table.Key{note.Key}, fence)
}

// deleteBefore removes rows of commits that have not landed, if they were
// written before the fence was raised.
func (l *Ledger) deleteBefore(ctx context.Context, keys []table.Key, fence int64) error {
	var writes []table.Write
	for _, key := range keys {
		// Rows that tell no fence are of a version that knew none.
		writes = append(writes, remove(key, table.Any(table.Lacks("f"), table.Less("f", table.Number(fence)))))
	}
	return l.table.writeEach(ctx, writes)
}

// unmark says of rows that their commit has landed, as many as one transaction
// holds at a time. Where one is not there, their index has been replaced and swept.
func (l *Ledger) unmark(ctx context.Context, rows []table.Key) error {
	for chunk := range slices.Chunk(rows, table.MaxWrites) {
		var writes []table.Write
		for _, k := range chunk {
			writes = append(writes, table.Write{Key: k, Unset: []string{"u"}, If: []table.Condition{table.ARow()}})
		}
		if err := l.table.db.Transact(ctx, writes...); err != nil && !errors.Is(err, table.ErrRefused) {
			return err
		}
	}
	return nil
}

package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/repository"
)

// RaiseFence makes everybody begin again who has read the head and not moved it
// yet: nothing that was stored before is named by a head, or a list of packs,
// that did not name it already. It returns the fence from now on.
func (l *Ledger) RaiseFence(ctx context.Context) (int64, error) {
	const what = "raising the fence"
	u := newUpdate()
	u.values[":none"], u.values[":one"] = number(0), number(1)
	name := u.name("fence")
	u.requireFormat()
	u.demands = append(u.demands, "attribute_exists(pk)")
	// If an answer is lost it is raised twice, which does no harm.
	out, err := asked(ctx, what, func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
		return l.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &l.table.name, Key: headKey(l.workspace),
			UpdateExpression:    aws.String(fmt.Sprintf("SET %[1]s = if_not_exists(%[1]s, :none) + :one", name)),
			ConditionExpression: u.condition(), ReturnValues: types.ReturnValueUpdatedNew,
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		})
	})
	if judge(err) == refused {
		if _, err := l.Head(ctx); err != nil {
			return 0, err
		}
	}
	if err != nil {
		return 0, err
	}
	return numberOf(out.Attributes, "fence"), nil
}

// Leftovers are sets of rows that no head names: of an import that was not
// finished, of an index that was replaced, of a large commit that did not land;
// or that may be on their way to be named.
type Leftovers struct {
	notes map[string]item
}

// Names are what tells the sets apart, from one run to the next.
func (l Leftovers) Names() []string {
	var names []string
	for name := range l.notes {
		names = append(names, name)
	}
	return names
}

// Only leaves those that a condition picks.
func (l Leftovers) Only(pick func(name string) bool) Leftovers {
	picked := Leftovers{notes: map[string]item{}}
	for name, note := range l.notes {
		if pick(name) {
			picked.notes[name] = note
		}
	}
	return picked
}

const pendingPrefix = "pending/"

// Leftovers lists the sets of rows that Sweep may remove.
func (l *Ledger) Leftovers(ctx context.Context) (Leftovers, error) {
	head, err := l.Head(ctx)
	if err != nil {
		return Leftovers{}, err
	}
	left := Leftovers{notes: map[string]item{}}
	q := question{partition: indexPartition(l.workspace), low: "0", high: "~"}
	err = l.table.query(ctx, "looking for rows that are left over", q, func(i item) (bool, error) {
		if name := textOf(i, rangeKey); name != head.Index {
			left.notes[name] = i
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
	for _, name := range slices.Sorted(slices.Values(left.Names())) {
		note := left.notes[name]
		n := 0
		switch {
		case numberOf(note, "f") >= fence || name == head.Index:
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

// sweepIndex removes all rows of an index, the log's last. Nobody gives its name
// to another one.
func (l *Ledger) sweepIndex(ctx context.Context, note item) (removed int, err error) {
	index := textOf(note, rangeKey)
	everything := repository.Head{Commit: "any", Sequence: farFuture, Index: index}
	var dependent, logs []item
	flush := func() error {
		removed += len(dependent) + len(logs)
		if err := l.table.deleteAll(ctx, dependent); err != nil {
			return err
		}
		err := l.table.deleteAll(ctx, logs)
		dependent, logs = nil, nil
		return err
	}
	rows := l.rows(index)
	err = l.log(ctx, everything, -1, func(c repository.Commit, shifts []repository.Touch, parts int) error {
		logs = append(logs, keyOf(rows.log(), place(c.Sequence, c.SHA)))
		dependent = append(dependent, keyOf(rows.ids(), c.SHA))
		for _, t := range slices.Concat(c.Touched, shifts) {
			dependent = append(dependent, keyOf(rows.item(t.Path), place(c.Sequence, c.SHA)))
		}
		for part := range parts {
			dependent = append(dependent, keyOf(rows.rest(), partSort(c.SHA, part)))
		}
		if len(dependent) < rowsAtOnce {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return removed, fmt.Errorf("removing the rows of index %s: %w", index, err)
	}
	return removed, l.table.deleteAll(ctx, []item{note})
}

const farFuture = 999_999_999_998

// sweepPending ends a large commit that nobody ended. The same commit may be on
// its way once more, under the same keys and another fence.
func (l *Ledger) sweepPending(ctx context.Context, head repository.Head, note item, fence int64) (removed int, err error) {
	where := strings.TrimPrefix(textOf(note, rangeKey), pendingPrefix)
	index, sha, _ := strings.Cut(where, "/")
	list, err := unzip().DecodeAll(bytesOf(note, "c"), nil)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", errRow, textOf(note, rangeKey))
	}
	rows := l.rows(index)
	var items []item
	for path := range strings.SplitSeq(string(list), "\x00") {
		items = append(items, keyOf(rows.item(path), place(numberOf(note, "n"), sha)))
	}
	row, err := l.table.get(ctx, "looking for a commit", keyOf(rows.ids(), sha))
	if err != nil {
		return 0, err
	}
	if row == nil {
		q := question{partition: rows.rest(), low: sha + "/", high: sha + "0"}
		err = l.table.query(ctx, "looking for touches", q, func(i item) (bool, error) {
			items = append(items, own(i))
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
	return removed, l.deleteBefore(ctx, []item{note}, fence)
}

// deleteBefore removes rows of commits that have not landed, if they were
// written before the fence was raised.
func (l *Ledger) deleteBefore(ctx context.Context, keys []item, fence int64) error {
	return each(ctx, 2*batchWidth, keys, func(ctx context.Context, key item) error {
		// Rows that tell no fence are of a version that knew none.
		_, err := asked(ctx, "removing a row", func(ctx context.Context) (*dynamodb.DeleteItemOutput, error) {
			return l.table.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
				TableName: &l.table.name, Key: own(key),
				ConditionExpression:       aws.String("f < :fence OR attribute_not_exists(f)"),
				ExpressionAttributeValues: item{":fence": number(fence)},
			})
		})
		if judge(err) == refused {
			return nil
		}
		return err
	})
}

// unmark says of rows that their commit has landed, as many as one transaction
// holds at a time.
func (l *Ledger) unmark(ctx context.Context, rows []item) error {
	return each(ctx, batchWidth, slices.Collect(slices.Chunk(rows, mostWrites)), func(ctx context.Context, rows []item) error {
		const what = "confirming rows"
		var writes []types.TransactWriteItem
		for _, i := range rows {
			writes = append(writes, types.TransactWriteItem{Update: &types.Update{
				TableName: &l.table.name, Key: own(i), UpdateExpression: aws.String("REMOVE u"),
				ConditionExpression: aws.String("attribute_exists(pk)"),
			}})
		}
		for try := 0; ; try++ {
			v, err := l.table.transact(ctx, what, writes)
			switch {
			case v == refused && len(rows) > 1: // one is not there: each by itself
				return each(ctx, 1, rows, func(ctx context.Context, i item) error { return l.unmark(ctx, []item{i}) })
			case v == refused || v == done:
				return nil
			case v != open || !pause(ctx, try):
				return err
			}
		}
	})
}

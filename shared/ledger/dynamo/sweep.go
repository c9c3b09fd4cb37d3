package dynamo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc.example/svc/shared/repository"
)

// Sweep removes rows that no head names: those of an import that was never
// finished, of an index that was replaced, of a large commit that lost its
// race, if that was before a time. A day ago is long enough. It says how many
// rows are gone.
func (l *Ledger) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	head, err := l.Head(ctx)
	if err != nil {
		return 0, err
	}
	var notes []item
	q := question{partition: indexPartition(l.workspace), low: "0", high: "~"}
	err = l.table.query(ctx, "looking for rows that are left over", q, func(i item) (bool, error) {
		if numberOf(i, "t") < before.Unix() {
			notes = append(notes, i)
		}
		return true, nil
	})
	for _, note := range notes {
		if err != nil {
			break
		}
		n := 0
		if name := textOf(note, rangeKey); strings.HasPrefix(name, "pending/") {
			n, err = l.sweepPending(ctx, head, note)
		} else if name != head.Index {
			n, err = l.sweepIndex(ctx, note)
		}
		removed += n
	}
	return removed, err
}

// sweepIndex removes all rows of an index, the log's last.
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

// sweepPending ends a large commit that nobody ended.
func (l *Ledger) sweepPending(ctx context.Context, head repository.Head, note item) (removed int, err error) {
	_, where, _ := strings.Cut(textOf(note, rangeKey), "/")
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
			err = l.table.deleteAll(ctx, items)
		}
		removed = len(items)
	} else if index == head.Index {
		err = l.unmark(ctx, items)
	}
	if err != nil {
		return 0, err
	}
	return removed, l.table.deleteAll(ctx, []item{note})
}

// unmark says of rows that their commit has landed.
func (l *Ledger) unmark(ctx context.Context, keys []item) error {
	return each(ctx, batchWidth, keys, func(ctx context.Context, key item) error {
		_, err := asked(ctx, "confirming a row", func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
			return l.table.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &l.table.name, Key: key, UpdateExpression: aws.String("REMOVE u"),
				ConditionExpression: aws.String("attribute_exists(pk)"),
			})
		})
		if judge(err) == refused {
			return nil
		}
		return err
	})
}

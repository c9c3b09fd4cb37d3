package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/repository"
)

const (
	mostWrites = 100     // in a transaction
	mostBytes  = 3 << 20 // in a transaction, which may have 4 MB
)

// Advance implements repository.Ledger.
func (l *Ledger) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	if err := checkCommit(from, c); err != nil {
		return repository.Head{}, err
	}
	c.Sequence = from.Sequence + 1
	w, made := c.Rows.(written)
	if !made {
		w = l.rows(from.Index).of(c, nil)
	}
	to := next(from, c, w)
	large := w.isLarge()
	if !large {
		return l.move(ctx, from, to, c, w.transaction(large))
	}
	note, err := l.prepare(ctx, from, c, w)
	if err != nil {
		return repository.Head{}, err
	}
	head, err := l.move(ctx, from, to, c, w.transaction(large))
	switch {
	case err == nil:
		// Best effort: rows that stay marked are looked up when they are read.
		_ = l.settle(context.WithoutCancel(ctx), from.Index, c.SHA, w.items)
	case errors.Is(err, repository.ErrMoved):
		// A sweep may have taken the note while rows were still being written.
		_ = l.table.putAll(ctx, []item{note})
	}
	return head, err
}

// isLarge says whether the rows are too many for one transaction.
func (w written) isLarge() bool {
	size := w.size
	for _, i := range w.items {
		size += sizeOf(i)
	}
	return len(w.rest) > 0 || len(w.items)+3 > mostWrites || size > mostBytes
}

// transaction lists the rows that are written together with the head.
func (w written) transaction(large bool) []item {
	if large {
		return []item{w.log, w.id}
	}
	return append([]item{w.log, w.id}, w.items...)
}

// move moves the head and writes rows with it.
func (l *Ledger) move(ctx context.Context, from, to repository.Head, c repository.Commit, rows []item) (repository.Head, error) {
	const what = "moving the head"
	writes := []types.TransactWriteItem{l.headUpdate(from, to)}
	for _, i := range rows {
		writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &l.table.name, Item: i}})
	}
	maybe := false // an attempt may have moved it
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil && !maybe {
			return repository.Head{}, fmt.Errorf("%s: %w", what, err)
		}
		_, err := once(ctx, func(ctx context.Context) (*dynamodb.TransactWriteItemsOutput, error) {
			return l.table.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		})
		switch judge(err) {
		case done:
			return to, nil
		case refused:
			head, err := l.refused(ctx, from, c, err)
			if err != nil && maybe && !errors.Is(err, repository.ErrMoved) {
				// That the lookup was busy does not say that nothing was written.
				err = fmt.Errorf("%s: no answer that tells how it ended: %v", what, err)
			}
			return head, err
		case wrong:
			if !maybe {
				err = fmt.Errorf("%w: %w", repository.ErrFailed, err)
			}
			return repository.Head{}, fmt.Errorf("%s: %w", what, err)
		case open:
			maybe = true
		}
		if pause(ctx, try) {
			continue
		}
		if maybe {
			return repository.Head{}, fmt.Errorf("%s: no answer that tells how it ended: %w", what, errors.Join(ctx.Err(), err))
		}
		return repository.Head{}, gaveUp(ctx, what, err)
	}
}

// headUpdate moves a head on condition that it is still there. A refusal
// brings the head that is there instead.
func (l *Ledger) headUpdate(from, to repository.Head) types.TransactWriteItem {
	set := item{}
	putHead(set, to)
	u := newUpdate()
	for _, name := range sorted(set) {
		u.set(name, set[name])
	}
	is := item{}
	putHead(is, from)
	is["access"] = number(from.Access)
	for _, name := range []string{"commit", "sequence", "access", "index", "baseName"} {
		u.require(name, is[name])
	}
	u.requireNumber("fence", from.Fence)
	u.requireFormat()
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &l.table.name, Key: headKey(l.workspace),
		UpdateExpression: u.expression(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// refused finds out whether a commit is in the history all the same: an
// earlier attempt, whose answer was lost, may have put it there.
func (l *Ledger) refused(ctx context.Context, from repository.Head, c repository.Commit, cause error) (repository.Head, error) {
	row, err := l.oldHead(ctx, cause)
	if err != nil {
		return repository.Head{}, err
	}
	now := headOf(row)
	sameLine := now.Index == from.Index
	switch {
	case now.Commit == c.SHA:
		return now, nil
	case sameLine && now.Sequence <= from.Sequence+1:
		return repository.Head{}, repository.ErrMoved
	}
	sequence, known, err := l.sequenceOf(ctx, now, c.SHA)
	if err != nil {
		return repository.Head{}, err
	}
	if !known {
		return repository.Head{}, repository.ErrMoved
	}
	head := repository.Head{Commit: c.SHA, Sequence: sequence, Access: now.Access, Fence: now.Fence, Index: now.Index, Base: now.Base}
	if head.Base.Sequence > sequence {
		head.Base = from.Base
	}
	return head, nil
}

// oldHead is the head that a refused transaction has found.
func (l *Ledger) oldHead(ctx context.Context, cause error) (item, error) {
	var cancelled *types.TransactionCanceledException
	if errors.As(cause, &cancelled) && len(cancelled.CancellationReasons) > 0 {
		if i := cancelled.CancellationReasons[0].Item; i["commit"] != nil && i["access"] != nil {
			return i, checkFormat(l.workspace, i)
		}
	}
	return l.table.headRow(ctx, l.workspace, openAttributes...)
}

// sequenceOf finds a commit in the history of a head.
func (l *Ledger) sequenceOf(ctx context.Context, head repository.Head, sha string) (sequence int64, known bool, err error) {
	i, err := l.table.get(ctx, "looking for a commit", keyOf(l.rows(head.Index).ids(), sha))
	if err != nil || i == nil {
		return 0, false, err
	}
	sequence = numberOf(i, "n")
	return sequence, sequence <= head.Sequence, nil
}

// prepare writes the rows of a large commit before the head moves. A note says
// which they are, for Sweep, should nobody finish it. All of them tell the fence
// that the writer has read: a sweep that raised it takes only those before it.
func (l *Ledger) prepare(ctx context.Context, from repository.Head, c repository.Commit, w written) (note item, err error) {
	note = l.noted(pendingSort(from.Index, c.SHA), from.Fence)
	var paths []string
	for _, i := range w.items {
		paths = append(paths, strings.TrimPrefix(textOf(i, hashKey), l.rows(from.Index).item("")))
		i["u"], i["f"] = yes(true), number(from.Fence)
	}
	for _, i := range w.rest {
		i["f"] = number(from.Fence)
	}
	note["c"] = binaryValue(zip().EncodeAll([]byte(strings.Join(paths, "\x00")), nil))
	note["n"] = number(c.Sequence)
	if err := l.table.putAll(ctx, []item{note}); err != nil {
		return nil, err
	}
	return note, l.table.putAll(ctx, slices.Concat(w.items, w.rest))
}

// settle ends what prepare began: it takes the mark off the rows of a commit
// that has landed.
func (l *Ledger) settle(ctx context.Context, index, sha string, items []item) error {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	if err := l.unmark(ctx, items); err != nil {
		return err
	}
	return l.table.deleteAll(ctx, []item{keyOf(indexPartition(l.workspace), pendingSort(index, sha))})
}

const settling = 20 * time.Second

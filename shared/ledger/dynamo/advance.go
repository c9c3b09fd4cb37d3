package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

const (
	// maxBytes bounds a transaction, which may have 4 MB.
	maxBytes = 3 << 20
	// confirming is how long taking the marks off the rows of a commit may take.
	confirming = 20 * time.Second
)

// Advance implements repository.Ledger.
func (l *Ledger) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	return l.advance(ctx, from, []repository.Commit{c}, from.Turn, nil)
}

// advance moves the head over commits, and makes other changes in the same step.
func (l *Ledger) advance(ctx context.Context, from repository.Head, chain []repository.Commit, turn string, beside []table.Write) (repository.Head, error) {
	to, size := from, int64(0)
	var all []written
	var rows []item
	for _, c := range chain {
		c.Sequence = to.Sequence + 1
		w, made := c.Rows.(written)
		if !made {
			w = l.rows(to.Index).of(c, nil)
		}
		to = next(to, c, w)
		all, rows, size = append(all, w), append(rows, w.transaction(false)...), size+w.size
		for _, i := range w.items {
			size += int64(i.Size())
		}
		if c.Once != nil {
			beside = append(beside, l.onceRow(to, c.Once))
			size += int64(len(c.Once.Answer))
		}
	}
	to.Turn = turn
	c, w := chain[len(chain)-1], all[len(all)-1]
	c.Sequence = to.Sequence
	large := len(w.rest) > 0 || 1+len(rows)+len(beside) > table.MaxWrites || size > maxBytes
	switch {
	case !large:
		return l.move(ctx, from, to, c, rows, beside)
	case len(chain) > 1:
		return repository.Head{}, fmt.Errorf("advance: %d commits are more than one step holds", len(chain))
	}
	note, err := l.prepare(ctx, from, c, w)
	if err != nil {
		return repository.Head{}, err
	}
	head, err := l.move(ctx, from, to, c, w.transaction(large), beside)
	switch {
	case err == nil:
		// Best effort: rows that stay marked are looked up when they are read.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirming)
		defer cancel()
		if l.unmark(ctx, keysOf(w.items)) == nil {
			_ = l.table.db.Batch(ctx, removals([]table.Key{note.Key}))
		}
	case errors.Is(err, repository.ErrMoved):
		// A sweep may have taken the note while rows were still being written.
		_ = l.table.db.Batch(ctx, puts([]item{note}))
	}
	return head, err
}

// transaction lists the rows that are written together with the head.
func (w written) transaction(large bool) []item {
	if large {
		return []item{w.log, w.id}
	}
	return append([]item{w.log, w.id}, w.items...)
}

// move moves the head to a commit, writes rows with it, and makes other changes.
func (l *Ledger) move(ctx context.Context, from, to repository.Head, c repository.Commit, rows []item, beside []table.Write) (repository.Head, error) {
	const what = "moving the head"
	writes := []table.Write{l.headUpdate(from, to)}
	for _, i := range rows {
		writes = append(writes, put(i))
	}
	err := l.table.db.Transact(ctx, append(writes, beside...)...)
	switch {
	case err == nil:
		return to, nil
	case errors.Is(err, table.ErrRefused):
		head, lookup := l.refused(ctx, from, c, err)
		if lookup != nil && errors.Is(err, table.ErrUnknown) && !errors.Is(lookup, repository.ErrMoved) {
			// That the lookup was busy does not say that nothing was written.
			lookup = fmt.Errorf("%s: %w: %v", what, table.ErrUnknown, lookup)
		}
		return head, lookup
	case !errors.Is(err, table.ErrUnknown) && !errors.Is(err, repository.ErrBusy):
		err = fmt.Errorf("%w: %w", repository.ErrFailed, err)
	}
	return repository.Head{}, err
}

// headUpdate moves a head on condition that it is still there. A refusal
// brings the head that is there instead.
func (l *Ledger) headUpdate(from, to repository.Head) table.Write {
	moved, was := table.Attributes{}, table.Attributes{}
	putHead(moved, to)
	putHead(was, from)
	if to.Turn != from.Turn {
		moved["turn"] = table.Text(to.Turn)
	}
	was["access"] = table.Number(from.Access)
	still := []table.Condition{isNumber("fence", from.Fence), l.table.isOurs()}
	for _, name := range []string{"commit", "sequence", "access", "index", "baseName"} {
		still = append(still, table.Is(name, was[name]))
	}
	w := set(headKey(l.workspace), moved, still...)
	w.Tell = true
	return w
}

// refused finds out whether a commit is in the history all the same: an
// earlier attempt, whose answer was lost, may have put it there.
func (l *Ledger) refused(ctx context.Context, from repository.Head, c repository.Commit, cause error) (repository.Head, error) {
	now, err := l.oldHead(ctx, cause)
	if err != nil {
		return repository.Head{}, err
	}
	sameLine := now.Index == from.Index
	switch {
	case now.Commit == c.SHA:
		return now, nil
	case sameLine && now.Sequence <= from.Sequence+1:
		return repository.Head{}, repository.ErrMoved
	}
	row, _, err := l.table.db.GetOne(ctx, keyOf(l.rows(now.Index).ids(), c.SHA))
	if err != nil {
		return repository.Head{}, err
	}
	sequence := row.Number("n")
	if row == nil || sequence > now.Sequence {
		return repository.Head{}, repository.ErrMoved
	}
	head := repository.Head{Commit: c.SHA, Sequence: sequence, Access: now.Access, Fence: now.Fence, Index: now.Index, Base: now.Base}
	if head.Base.Sequence > sequence {
		head.Base = from.Base
	}
	return head, nil
}

// oldHead is the head that a refused transaction has found.
func (l *Ledger) oldHead(ctx context.Context, cause error) (repository.Head, error) {
	if refused, told := errors.AsType[*table.Refused](cause); told {
		if i := refused.Found[0]; i["commit"] != nil && i["access"] != nil {
			return headOf(i), l.table.check(l.workspace, i)
		}
	}
	return l.Head(ctx)
}

// prepare writes the rows of a large commit before the head moves. A note says
// which they are, for Sweep, should nobody finish it. All of them tell the fence
// that the writer has read: a sweep that raised it takes only those before it.
func (l *Ledger) prepare(ctx context.Context, from repository.Head, c repository.Commit, w written) (note item, err error) {
	note = l.noted(pendingSort(from.Index, c.SHA), from.Fence)
	var paths []string
	for _, i := range w.items {
		paths = append(paths, strings.TrimPrefix(i.Partition, l.rows(from.Index).item("")))
		i.Attributes["u"], i.Attributes["f"] = table.Truth(true), table.Number(from.Fence)
	}
	for _, i := range w.rest {
		i.Attributes["f"] = table.Number(from.Fence)
	}
	note.Attributes["c"] = table.Bytes(zip().EncodeAll([]byte(strings.Join(paths, "\x00")), nil))
	note.Attributes["n"] = table.Number(c.Sequence)
	if err := l.table.db.Batch(ctx, puts([]item{note})); err != nil {
		return note, err
	}
	return note, l.table.db.Batch(ctx, puts(slices.Concat(w.items, w.rest)))
}

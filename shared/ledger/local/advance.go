package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Advance implements repository.Ledger.
func (l *Ledger) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	if err := l.writing.Acquire(ctx, 1); err != nil {
		return repository.Head{}, fmt.Errorf("moving the head: %w: %w", repository.ErrBusy, err)
	}
	defer l.writing.Release(1)
	return l.advance(ctx, from, c)
}

// advance is Advance for the holder of l.writing.
func (l *Ledger) advance(ctx context.Context, from repository.Head, c repository.Commit) (none repository.Head, err error) {
	if err := l.CheckLock(); err != nil {
		return none, err
	}
	if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
		return none, repository.Unwritten(err)
	}
	h := l.history.Load()
	if number, held := h.find(object.ParseID(c.SHA)); held {
		// An earlier Advance moved the head and failed afterwards, perhaps to flush it.
		if err := l.branch.flush(); err != nil {
			return none, err
		}
		return repository.Head{Commit: c.SHA, Sequence: h.base + int64(number), Access: from.Access}, nil
	}
	if at := headOf(h); at.Commit != from.Commit || at.Sequence != from.Sequence {
		return none, repository.ErrMoved
	}
	var preparing errgroup.Group
	preparing.Go(func() error { return l.remember(ctx, c) })
	preparing.Go(func() error { return l.branch.prepare(c.SHA) })
	if err := preparing.Wait(); err != nil {
		return none, repository.Unwritten(errors.Join(cmp.Or(l.CheckLock(), err), l.branch.recover()))
	}
	done, err := l.registry.lock(ctx)
	if err != nil {
		return none, repository.Unwritten(fmt.Errorf("moving the head: %w", err))
	}
	keep := forNext
	defer func() { done(keep) }()
	found, err := l.registry.current()
	if err != nil {
		return none, repository.Unwritten(err)
	}
	if found.Version != from.Access {
		keep = forAgain
		return none, repository.ErrMoved
	}
	if err := l.branch.swap(ctx, from.Commit, c.SHA); err != nil {
		return none, err
	}
	l.begun.Store(true)
	l.extend([]row{rowOf(c, nil).asHead(true)})
	to := headOf(l.history.Load())
	to.Access = found.Version
	return to, nil
}

// Take moves the head to a commit that was made elsewhere and descends from it, as a push does;
// ErrMoved where the head is another one by now. Its objects have been put already.
func (l *Ledger) Take(ctx context.Context, from repository.Head, to object.ID) error {
	if err := l.writing.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("moving the head: %w: %w", repository.ErrBusy, err)
	}
	defer l.writing.Release(1)
	if err := l.CheckLock(); err != nil {
		return err
	}
	if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	if headOf(l.history.Load()).Commit != from.Commit {
		return repository.ErrMoved
	}
	if err := l.branch.prepare(to.String()); err != nil {
		return errors.Join(err, l.branch.recover())
	}
	done, err := l.registry.lock(ctx)
	if err != nil {
		return fmt.Errorf("moving the head: %w", err)
	}
	err = l.branch.swap(ctx, from.Commit, to.String())
	if done(forAgain); err != nil {
		return err
	}
	return l.catchUp(context.WithoutCancel(ctx))
}

// remember writes which request a commit is made for, before it lands: what is written
// counts once the history has the commit.
func (l *Ledger) remember(ctx context.Context, c repository.Commit) error {
	if c.Once == nil {
		return nil
	}
	if err := l.files.before(OpWrite, l.database.Path); err != nil {
		return err
	}
	return l.answers.Put(ctx,
		repository.Answered{ID: c.Once.ID, Request: c.Once.Request, Answer: c.Once.Answer, Commit: c.SHA, Until: c.Once.Until.Unix()})
}

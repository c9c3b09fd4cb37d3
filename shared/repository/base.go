package repository

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// fromBase reads the base that a head names, and at the same time the rows
// since it. Should the base be lost or damaged, everything is read; one that holds
// too much is neither.
func (r *Repository) fromBase(ctx context.Context, head Head) (*Snapshot, error) {
	s, err := r.fromBaseAlone(ctx, head)
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrBusy) || errors.As(err, new(*TooLarge)) {
		return s, err
	}
	return r.rebuild(ctx, head)
}

func (r *Repository) fromBaseAlone(ctx context.Context, head Head) (*Snapshot, error) {
	var base *Snapshot
	var commits []Commit
	group, within := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		base, err = r.base(within, head.Base)
		return err
	})
	if head.Base.Sequence < head.Sequence {
		group.Go(func() (err error) {
			commits, err = r.ledger.Since(within, head, head.Base.Sequence)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading the workspace at %s: %w", head.Commit, err)
	}
	return r.apply(ctx, base, head, commits)
}

var errNoBase = errors.New("the store keeps no snapshots")

// base reads a base.
func (r *Repository) base(ctx context.Context, b Base) (*Snapshot, error) {
	if b.Name == "" {
		return &Snapshot{Head: Head{Sequence: b.Sequence}}, nil
	}
	keeper, keeps := r.objects.(Checkpoints)
	if !keeps {
		return nil, errNoBase
	}
	content, err := keeper.Snapshot(ctx, b.Name)
	if err != nil {
		return nil, fmt.Errorf("reading snapshot %s: %w", b.Name, err)
	}
	s, err := DecodeSnapshot(b.Name, content)
	if err == nil && s.Head.Sequence != b.Sequence {
		err = fmt.Errorf("snapshot %s is of the commit at %d, where that at %d belongs", b.Name, s.Head.Sequence, b.Sequence)
	}
	return s, err
}

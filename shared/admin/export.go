package admin

import (
	"context"
	"errors"
	"maps"
	"slices"

	"svc.example/svc/shared/checkout"
)

// Export writes a workspace as an ordinary git repository with a work tree, its
// whole history, and returns the commit.
func (w *Workspace) Export(ctx context.Context, target string, progress Progress) (commit string, err error) {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return "", err
	}
	if head.Commit == "" {
		return "", errors.New("the workspace has no commit yet")
	}
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return "", err
	}
	var m *mirror
	err = checkout.Write(ctx, target, "", head.Commit, func(git string) (err error) {
		if m, err = w.copyPacks(ctx, git, packs, nil, progress.begin("copying", "packs")); err == nil && len(m.packs) > maxLoose {
			_, err = m.objects.Compact(ctx)
		}
		return err
	})
	if err != nil && m != nil {
		err = errors.Join(err, m.complaint())
	}
	if err != nil {
		return "", err
	}
	return head.Commit, m.complaint()
}

// maxLoose is how many packs git can live with.
const maxLoose = 20

// complaint is not nil when packs could not be copied. What they hold may lie
// elsewhere too; reading it will tell.
func (m *mirror) complaint() error {
	return errors.Join(slices.Collect(maps.Values(m.broken))...)
}

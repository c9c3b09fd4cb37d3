package embedded

import (
	"context"
	"errors"
	"path/filepath"

	"svc.example/svc/shared/clone"
	"svc.example/svc/shared/ledger/local"
)

// Export writes a workspace as an ordinary git clone with a work tree, from a
// data directory that another process may be serving. It returns the commit.
func Export(ctx context.Context, dir, target string) (string, error) {
	registry, err := local.OpenRegistry(dir) // which refuses what a newer svc has stored
	if err != nil {
		return "", err
	}
	defer registry.Close()
	origin, err := filepath.Abs(filepath.Join(dir, local.RepositoryName))
	if err != nil {
		return "", err
	}
	commit, err := local.MainOf(origin)
	if err != nil {
		return "", err
	}
	if commit == "" {
		return "", errors.New("the workspace has no commit yet")
	}
	source := clone.At(origin, commit)
	return source.Commit(), clone.Fill(target, func() error {
		git, err := clone.Begin(target, origin)
		if err != nil {
			return err
		}
		if err := source.CopyTo(git, nil); err != nil {
			return err
		}
		return clone.CheckOut(ctx, target, source.Commit())
	})
}

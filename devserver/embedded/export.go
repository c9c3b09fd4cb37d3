package embedded

import (
	"context"
	"errors"
	"path/filepath"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/source"
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
	from := source.RepositoryAt(origin, commit)
	return commit, checkout.Write(ctx, target, origin, commit, func(git string) error { return from.CopyTo(ctx, git, nil) })
}

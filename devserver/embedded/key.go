package embedded

import (
	"context"
	"errors"
	"path/filepath"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/workspace"
)

// IssueKey issues a key in a data directory, which another process may be
// serving. Its text can be had from what is returned and nowhere else.
func IssueKey(ctx context.Context, dir, by string, q access.KeyRequest) (access.Key, access.Principal, error) {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return access.Key{}, access.Principal{}, err
	}
	if err := knownEnvironment(ctx, dir, q.Environment); err != nil {
		return access.Key{}, access.Principal{}, errors.Join(err, registry.Close())
	}
	key, principal, err := registry.By(by).IssueKey(ctx, q)
	return key, principal, errors.Join(err, registry.Close())
}

// knownEnvironment refuses an environment that the workspace does not have.
func knownEnvironment(ctx context.Context, dir, name string) error {
	if name == "" {
		return nil
	}
	git := filepath.Join(dir, local.RepositoryName)
	commit, err := local.MainOf(git)
	if err != nil || commit == "" {
		return err
	}
	tree, err := source.RepositoryAt(git, commit).Tree(ctx)
	if err != nil {
		return err
	}
	ws, _ := workspace.Read(tree.Files)
	return ws.CheckEnvironment(name)
}

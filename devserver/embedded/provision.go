package embedded

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
)

// workspaceOf is the workspace of a data directory, which another process may be serving.
func workspaceOf(ctx context.Context, dir string) (access.Workspace, error) {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return access.Workspace{}, err
	}
	ws, err := registry.Workspace(ctx)
	return ws, errors.Join(err, registry.Close())
}

// Provision has work done on the workspace of a data directory, which nobody may be
// serving: as long as it goes on, nobody else can begin to.
func Provision(ctx context.Context, dir string, work func(w *provision.Workspace) error) error {
	record, err := workspaceOf(ctx, dir)
	if err != nil {
		return err
	}
	ledger, err := local.Open(ctx, dir, local.Options{})
	if err != nil {
		return err
	}
	err = work(provision.New(record, ledger, repository.New(ledger, ledger.Objects())))
	return errors.Join(err, ledger.Close())
}

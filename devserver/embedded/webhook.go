package embedded

import (
	"context"
	"errors"
	"path/filepath"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/webhook"
)

// Webhooks has work done on the webhooks of a data directory, which another process may be
// serving. How they are reached is the caller's to say.
func Webhooks(ctx context.Context, dir, by string, work func(*webhook.Manager) error) error {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return err
	}
	ws, err := registry.Workspace(ctx)
	if err == nil {
		err = work(&webhook.Manager{Sender: &webhook.Sender{Table: bolt.New(local.DatabaseIn(dir))}, Workspace: ws.ID, Registry: registry.By(by),
			Head: func(ctx context.Context) (webhook.Position, error) {
				commit, err := local.MainOf(filepath.Join(dir, local.RepositoryName))
				if err != nil {
					return webhook.Position{}, err
				}
				version, err := registry.Version(ctx)
				return webhook.Position{Commit: commit, Access: version}, err
			}})
	}
	return errors.Join(err, registry.Close())
}

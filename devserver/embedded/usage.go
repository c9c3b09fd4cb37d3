package embedded

import (
	"context"
	"errors"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/telemetry"
	telemetrylocal "svc.example/svc/shared/telemetry/local"
)

// Usage is how many contexts a workspace was seen with in a month. Another
// process may be serving the data directory.
func Usage(ctx context.Context, dir string, month telemetry.Month) (telemetry.Usage, error) {
	registry, err := local.OpenRegistry(dir)
	if err != nil {
		return telemetry.Usage{}, err
	}
	ws, err := registry.Workspace(ctx)
	if err = errors.Join(err, registry.Close()); err != nil {
		return telemetry.Usage{}, err
	}
	return telemetrylocal.New(dir).Usage(ctx, ws.ID, month)
}

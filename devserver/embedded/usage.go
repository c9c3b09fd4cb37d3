package embedded

import (
	"context"
	"fmt"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/earlier"
	"svc.example/svc/shared/telemetry/rows"
)

// Usage is how many contexts a workspace was seen with in a month. Another
// process may be serving the data directory.
func Usage(ctx context.Context, dir string, month telemetry.Month) (telemetry.Usage, error) {
	ws, err := workspaceOf(ctx, dir)
	if err != nil {
		return telemetry.Usage{}, err
	}
	if earlier.Exists(dir) {
		return telemetry.Usage{}, fmt.Errorf("the telemetry in %s is of an earlier version of svc: start `svc api` of this version once, which takes it over", dir)
	}
	return rows.New(bolt.New(local.DatabaseIn(dir)), 0).Usage(ctx, ws.ID, month)
}

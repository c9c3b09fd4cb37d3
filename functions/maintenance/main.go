// Command maintenance is the Lambda function that a schedule starts: it merges
// packs, removes what nobody names, and compares the index with git. An error
// of it rings an alarm.
package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/config"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/infra/admin"
)

func main() { start.Scheduled(settings.TableAndBucket, wire) }

func wire(ctx context.Context, s settings.Settings, logger *slog.Logger) (start.Task, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	stores := admin.Open(cfg, s.Table, s.Bucket)
	return func(ctx context.Context) error {
		report, err := stores.Maintain(ctx, admin.Maintenance{Logger: logger})
		return errors.Join(err, report.Err())
	}, err
}

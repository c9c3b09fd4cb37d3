// Package telemetry wires the intake of telemetry.
package telemetry

import (
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	telemetryrows "svc.example/svc/shared/telemetry/rows"
)

// Function takes telemetry in. It reads a workspace's repository when evaluations are
// reported, of which those of its items are counted.
func Function(connect table.AWS) start.Function {
	return start.Function{Required: settings.TableAndBucket, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		rows := connect.OpenWithoutSecret(s)
		service := control.New(control.Settings{Authenticator: rows, Repository: repositories.Open(connect, s, rows).Find, Now: time.Now, Used: table.Uses(rows, logger),
			CacheBytes: s.ViewBytes(), NoLists: true})
		intake := &telemetry.Intake{Store: telemetryrows.New(dynamo.New(connect.Client(), s.Table), s.ContextDays), Now: time.Now, Logger: logger}
		return sdkapi.Telemetry(sdkapi.Options{
			Service: service, Intake: intake, Logger: logger,
			Telemetry: s.Telemetry, Anonymous: ratelimit.NewBuckets(s.Anonymous, time.Now),
		}), nil
	}}
}

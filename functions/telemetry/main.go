// Command telemetry is the Lambda function that takes in what applications
// report of the contexts that they evaluate for. It reads no repository and
// links nothing of S3.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/dynamo"
)

func main() { start.HTTP(settings.Table, wire) }

func wire(_ context.Context, s settings.Settings, logger *slog.Logger) (http.Handler, error) {
	rows := table.OpenWithoutSecret(s)
	plane := control.New(control.Settings{Authenticator: rows, Repository: none, Now: time.Now, Used: table.Uses(rows, logger)})
	intake := &telemetry.Intake{Store: dynamo.New(table.Client(), s.Table), Now: time.Now, Logger: logger}
	return sdkapi.Telemetry(sdkapi.Options{
		Service: plane, Intake: intake, Logger: logger,
		Telemetry: s.Telemetry, Strangers: ratelimit.NewBuckets(s.Strangers, time.Now),
	}), nil
}

func none(context.Context, string) (control.Repository, error) {
	return nil, errors.New("telemetry reads no repository")
}

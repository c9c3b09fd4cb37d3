// Package telemetry wires the intake of telemetry.
package telemetry

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

// Function takes telemetry in.
func Function(connect table.AWS) start.Function {
	return start.Function{Required: settings.Table, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		rows := connect.OpenWithoutSecret(s)
		service := control.New(control.Settings{Authenticator: rows, Repository: none, Now: time.Now, Used: table.Uses(rows, logger)})
		intake := &telemetry.Intake{Store: dynamo.New(connect.Client(), s.Table), Now: time.Now, Logger: logger}
		return sdkapi.Telemetry(sdkapi.Options{
			Service: service, Intake: intake, Logger: logger,
			Telemetry: s.Telemetry, Strangers: ratelimit.NewBuckets(s.Strangers, time.Now),
		}), nil
	}}
}

func none(context.Context, string) (control.Repository, error) {
	return nil, errors.New("telemetry reads no repository")
}

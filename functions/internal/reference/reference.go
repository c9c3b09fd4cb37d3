// Package reference wires the function that serves the API's description.
package reference

import (
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/release"
)

// Function serves the description, and answers every path that no other
// function has.
func Function() start.Function {
	return start.Function{Required: settings.Nothing, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		return httpapi.New(httpapi.Options{
			BasePath: s.BasePath, PublicURL: s.PublicURL, Release: release.Name(),
			MaxAnswer: gateway.MaxAnswer, Logger: logger,
			Strangers: ratelimit.NewBuckets(s.Strangers, time.Now),
		}, httpapi.Reference())
	}}
}

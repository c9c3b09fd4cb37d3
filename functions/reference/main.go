// Command reference is the Lambda function that serves the API's description,
// and the gateway's default route: every path that no other function has is
// answered here, with our own 404. It needs no store and links none.
package main

import (
	"context"
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

func main() { start.HTTP(settings.Nothing, wire) }

func wire(_ context.Context, s settings.Settings, logger *slog.Logger) (http.Handler, error) {
	return httpapi.New(httpapi.Options{
		BasePath: s.BasePath, PublicURL: s.PublicURL, Release: release.Name(),
		MaxAnswer: gateway.MaxAnswer, Logger: logger,
		Strangers: ratelimit.NewBuckets(s.Strangers, time.Now),
	}, httpapi.Reference())
}

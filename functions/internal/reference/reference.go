// Package reference wires the function that serves what people look at: the API's
// description and the console.
package reference

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/shared/console"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/release"
	"svc.example/svc/shared/router"
)

// Function serves the description and the console, and answers every path that no
// other function has.
func Function() start.Function {
	return start.Function{Required: settings.Nothing, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		routes, notFound, err := httpapi.Routes(httpapi.Options{
			BasePath: s.BasePath, PublicURL: s.PublicURL, Release: release.Name(),
			MaxAnswer: gateway.MaxAnswer, Logger: logger,
			Anonymous: ratelimit.NewBuckets(s.Anonymous, time.Now),
		}, httpapi.Reference())
		if err != nil {
			return nil, err
		}
		for _, route := range console.Routes(false, "") {
			route.Path = strings.TrimSuffix(s.BasePath, "/v1") + route.Path // beside the API
			routes = append(routes, route)
		}
		return router.New(routes, notFound), nil
	}}
}

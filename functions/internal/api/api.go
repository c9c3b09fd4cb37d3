// Package api wires a group of the control plane's endpoints. A function that
// imports it serves the one group that it names, and links no other.
package api

import (
	"log/slog"
	"net/http"
	"time"

	"svc.example/svc/functions/internal/gateway"
	"svc.example/svc/functions/internal/repositories"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ratelimit"
)

// Function serves a group. What it takes more of the control plane than all
// groups do is added by more.
func Function(connect table.AWS, group httpapi.Group, more ...func(s settings.Settings, service *control.Settings)) start.Function {
	return start.Function{Required: settings.TableAndBucket, Wire: func(s settings.Settings, logger *slog.Logger) (http.Handler, error) {
		rows := connect.Open(s)
		service := Service(s, rows, repositories.Open(connect, s, rows), logger)
		for _, add := range more {
			add(s, &service)
		}
		return httpapi.New(Options(s, service, logger), group)
	}}
}

// Service is what every group takes of the control plane.
func Service(s settings.Settings, rows *dynamo.Table, all *repositories.Repositories, logger *slog.Logger) control.Settings {
	return control.Settings{
		Authenticator: rows,
		Repository:    all.Find,
		Now:           time.Now,
		PublicURL:     s.PublicURL,
		Used:          table.Uses(rows, logger),
		CacheBytes:    s.ViewBytes(),
		MaxTexts:      s.MaxTexts(),
		MaxCompiled:   s.MaxTable(),
	}
}

// Options are what every group is served with.
func Options(s settings.Settings, service control.Settings, logger *slog.Logger) httpapi.Options {
	return httpapi.Options{
		Service: control.New(service), BasePath: s.BasePath, PublicURL: s.PublicURL,
		Limit: s.Limit, Anonymous: ratelimit.NewBuckets(s.Anonymous, time.Now),
		MaxAnswer: gateway.MaxAnswer, Logger: logger,
	}
}

// Package contexts wires a group of endpoints that reads what telemetry has kept: to
// serve it, or to tell what a write would do to the contexts that were saved.
package contexts

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry/rows"
)

// Function serves a group that reads what functions/telemetry saves.
func Function(connect table.AWS, group httpapi.Group) start.Function {
	return api.Function(connect, group, func(s settings.Settings, service *control.Settings) {
		kept := Kept(connect, s)
		service.Contexts = kept
		if group.Tag() == "flags" || group.Tag() == "configs" {
			service.Evaluations = kept
		}
	})
}

// Kept is what functions/telemetry has saved.
func Kept(connect table.AWS, s settings.Settings) *rows.Store {
	return rows.New(dynamo.New(connect.Client(), s.Table), s.ContextDays)
}

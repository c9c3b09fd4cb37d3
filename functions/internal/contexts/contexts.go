// Package contexts wires the function that serves the saved example contexts.
package contexts

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/telemetry/dynamo"
)

// Function serves the contexts that functions/telemetry saves.
func Function(connect table.AWS) start.Function {
	return api.Function(connect, httpapi.Contexts(), func(s settings.Settings, service *control.Settings) {
		service.Contexts = dynamo.New(connect.Client(), s.Table)
	})
}

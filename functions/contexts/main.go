// Command contexts is the Lambda function that serves the saved example
// contexts, which functions/telemetry saves.
package main

import (
	"svc.example/svc/functions/internal/api"
	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/telemetry/dynamo"
)

func main() {
	api.Serve(httpapi.Contexts(), func(s settings.Settings, plane *control.Settings) {
		plane.Contexts = dynamo.New(table.Client(), s.Table)
	})
}

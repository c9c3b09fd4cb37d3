// Command webhooks is the Lambda function that tells webhooks what has changed. The stream of
// the heads puts a message into its queue for each change, and it sends itself others for what
// is to be tried again.
package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/functions/internal/webhooks"
)

func main() {
	start.Events(settings.Webhooks, func(s settings.Settings, logger *slog.Logger) func(context.Context, json.RawMessage) (any, error) {
		return webhooks.New(table.FromEnvironment, s, logger).Handle
	})
}

// Command maintenance is the Lambda function that looks after what is stored: it
// merges packs, removes what nobody names, and compares the index with git. A
// schedule starts it to ask for that, a message for each workspace, and the
// queue hands it these messages.
package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/functions/internal/upkeep"
)

func main() {
	start.Events(settings.Everything, func(s settings.Settings, logger *slog.Logger) func(context.Context, json.RawMessage) (any, error) {
		return upkeep.New(table.FromEnvironment, s, logger).Handle
	})
}

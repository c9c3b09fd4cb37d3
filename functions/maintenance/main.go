// Command maintenance is the Lambda function that looks after what is stored: it
// merges packs, removes what nobody names, and compares the index with git. A
// schedule starts it to ask for that, a message for each workspace, and the
// queue hands it these messages.
package main

import (
	"context"
	"log/slog"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/table"
	"svc.example/svc/functions/internal/upkeep"
)

func main() {
	start.Events(settings.Everything, func(_ context.Context, s settings.Settings, logger *slog.Logger) (start.Work, error) {
		return upkeep.New(table.FromEnvironment, s, logger).Handle, nil
	})
}

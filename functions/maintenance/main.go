// Command maintenance is the Lambda function that looks after what is stored: it
// merges packs, removes what nobody names, and compares the index with git. A
// schedule starts it to ask for that, a message for each workspace, and the
// queue hands it these messages.
package main

import (
	"context"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"svc.example/svc/functions/internal/settings"
	"svc.example/svc/functions/internal/start"
	"svc.example/svc/functions/internal/upkeep"
	"svc.example/svc/shared/admin"
)

func main() { start.Events(settings.Everything, wire) }

func wire(ctx context.Context, s settings.Settings, logger *slog.Logger) (start.Work, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	function := upkeep.Function{
		Stores: admin.Open(cfg, s.Table, s.Bucket), Messages: sqs.NewFromConfig(cfg),
		Queue: s.Queue, DeadLetters: s.DeadLetters, Logger: logger,
	}
	return function.Handle, err
}

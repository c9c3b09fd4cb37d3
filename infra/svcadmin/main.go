// Command svcadmin looks after a hosted service: its workspaces, keys and
// environments, and what is stored of them in DynamoDB and S3.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"svc.example/svc/infra/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends it at once
	os.Exit(command.Main(ctx, command.System()))
}

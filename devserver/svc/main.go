// Command svc serves and checks config directories.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"svc.example/svc/devserver/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends it at once
	os.Exit(command.Main(ctx, command.System()))
}

package command

import (
	"testing"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/guides"
)

// TestTheCommandsThatTheGuidesShow: svcadmin has them, with these flags.
func TestTheCommandsThatTheGuidesShow(t *testing.T) {
	guides.CheckCommands(t, "svcadmin", commandLine)
}

// TestTheHelpShowsExamples: of each command, and svcadmin accepts them.
func TestTheHelpShowsExamples(t *testing.T) {
	guides.CheckHelp(t, "svcadmin", commandLine)
}

func commandLine() *cobra.Command {
	return newRoot(&cli.Caller{Getenv: func(string) string { return "" }})
}

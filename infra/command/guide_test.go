package command

import (
	"testing"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/guides"
)

// TestTheCommandsThatTheGuidesShow: svcadmin has them, with these flags.
func TestTheCommandsThatTheGuidesShow(t *testing.T) {
	guides.CheckCommands(t, "svcadmin", func() *cobra.Command {
		return newRoot(&cli.Caller{Getenv: func(string) string { return "" }})
	})
}

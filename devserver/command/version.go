package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/release"
)

func newVersion(in Invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the release, its commit and the platform",
		Example: `  svc version`,
		Args:    cli.Arguments(""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(in.Stdout, "svc version", release.Version())
			return err
		},
	}
}

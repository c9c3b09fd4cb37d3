package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/cli"
)

func newExport(in Invocation) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "export <dir>",
		Short: "Write the workspace as an ordinary git clone",
		Long: `Write the workspace as an ordinary git clone with a work tree, which svc serve and
svc verify can read. It works while svc api serves the data directory, and
needs no git.`,
		Example: `  svc export ./our-config`,
		Args:    cli.Arguments(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			commit, err := embedded.Export(cmd.Context(), in.Absolute(data), in.Absolute(args[0]))
			if err != nil {
				return in.noWorkspace(err, data)
			}
			fmt.Fprintf(in.Stderr, "wrote %s at %s\n", args[0], commit)
			return nil
		},
	}
	dataFlag(cmd, &data)
	return cmd
}

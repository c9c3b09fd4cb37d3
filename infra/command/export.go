package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/cli"
)

func newExport(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export <dir>",
		Short: "Write a workspace as an ordinary git repository with a work tree",
		Long: `Write a workspace as an ordinary git repository with a work tree and its whole
history, which svc serve, svc verify and svcadmin apply can read. It needs no
git and changes nothing.`,
		Example: `  svcadmin export ./acme`,
		Args:    cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, args []string) error {
			commit, err := w.Export(cmd.Context(), s.Absolute(args[0]), s.progress)
			if commit == "" || errors.Is(err, context.Canceled) {
				return err
			}
			fmt.Fprintf(s.Stderr, "wrote %s at %s\n", args[0], commit)
			return err
		}),
	}
	s.ofWorkspace(cmd)
	return cmd
}

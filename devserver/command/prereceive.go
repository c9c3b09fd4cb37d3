package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/cli"
)

// newPreReceive is what the repository's hook runs; nobody else needs it.
func newPreReceive(in Invocation) *cobra.Command {
	return &cobra.Command{
		Use:    prereceive.Command,
		Short:  "Check a push; git runs it",
		Hidden: true,
		Args:   cli.Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			push := prereceive.Push{Repository: in.Workdir, Quarantine: in.Getenv("GIT_QUARANTINE_PATH"), Updates: in.Stdin}
			if dir := in.Getenv("GIT_DIR"); dir != "" {
				push.Repository = in.Absolute(dir)
			}
			err := prereceive.Check(cmd.Context(), push)
			if refusal := (*prereceive.Refusal)(nil); errors.As(err, &refusal) {
				for line := range strings.SplitSeq(refusal.Error(), "\n") {
					fmt.Fprintln(in.Stderr, "svc: "+line)
				}
				return cli.ErrSaid
			}
			return err
		},
	}
}

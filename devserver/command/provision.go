package command

import (
	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/provision"
)

// provisionCommands are the commands that change a workspace in its data directory.
func provisionCommands(in Invocation) []*cobra.Command {
	var data string
	p := &cli.Provision{
		Caller: in.Caller, Program: "svc",
		Note: "\n\nIt works on the data directory of svc api, which has to be stopped for it.",
		Flags: func(cmd *cobra.Command) {
			cmd.PersistentFlags().StringVar(&data, "data", defaultData, "data directory of svc api")
		},
		Open: func(cmd *cobra.Command, work func(w *provision.Workspace) error) error {
			return in.noWorkspace(embedded.Provision(cmd.Context(), in.Absolute(data), work), data)
		},
		Notes: func(map[string][]byte) []string { return nil },
	}
	return []*cobra.Command{cli.NewEnvironment(p), cli.NewApply(p)}
}

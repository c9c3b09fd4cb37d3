package command

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/devserver/server"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/webhook"
)

// dataFlag adds the flag that names the data directory.
func dataFlag(cmd *cobra.Command, data *string) {
	cmd.PersistentFlags().StringVar(data, "data", defaultData, "data directory of svc api")
}

// dataCommands are the commands of every program, on a data directory.
func dataCommands(in Invocation) []*cobra.Command {
	var data string
	return cli.Settings{
		Caller: in.Caller, Program: "svc", Where: "a data directory", Address: server.URL("127.0.0.1", apiPort),
		Note:    "It works while svc api serves the directory, and takes effect with the next request.",
		Stopped: "\n\nIt works on the data directory of svc api, which has to be stopped for it.",
		Flags:   func(cmd *cobra.Command) { dataFlag(cmd, &data) },
		Registry: func(_ *cobra.Command, work func(*access.Registry) error) error {
			registry, err := local.OpenRegistry(in.Absolute(data))
			if err != nil {
				return in.noWorkspace(err, data)
			}
			return errors.Join(work(registry.By(cli.Actor(in.Getenv))), registry.Close())
		},
		IssueKey: func(cmd *cobra.Command, q access.KeyRequest) (access.Key, access.Principal, error) {
			key, principal, err := embedded.IssueKey(cmd.Context(), in.Absolute(data), cli.Actor(in.Getenv), q)
			return key, principal, in.noWorkspace(err, data)
		},
		Audit: func(cmd *cobra.Command, newest int) ([]audit.Event, error) {
			events, err := embedded.Audit(cmd.Context(), in.Absolute(data), newest)
			return events, in.noWorkspace(err, data)
		},
		Open: func(cmd *cobra.Command, work func(w *provision.Workspace) error) error {
			err := embedded.Provision(cmd.Context(), in.Absolute(data), work)
			if errors.Is(err, local.ErrServed) {
				return fmt.Errorf("%w. While it runs, an admin sees and changes environments and their approvals in its console under Settings, Environments", err)
			}
			return in.noWorkspace(err, data)
		},
		Webhooks: func(cmd *cobra.Command, work func(*webhook.Manager) error) error {
			return in.noWorkspace(embedded.Webhooks(cmd.Context(), in.Absolute(data), cli.Actor(in.Getenv), work), data)
		},
		Notes: func(map[string][]byte) []string { return nil },
	}.Commands()
}

// noWorkspace puts it in words that there is no data directory, if that is why
// something was not found.
func (in Invocation) noWorkspace(err error, data string) error {
	if there, _ := embedded.Exists(in.Absolute(data)); !there && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no workspace; svc api creates one, or name another directory with --data", data)
	}
	return err
}

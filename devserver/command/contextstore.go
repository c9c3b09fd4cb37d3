package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

func newContextsExport(in Invocation) *cobra.Command {
	var f remoteFlags
	var environments []string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the saved contexts with their properties, for svc diff",
		Long: `Write the saved contexts with their properties to standard output: each on a line,
as svc diff --contexts reads them, and svc eval --context-file one of them:

  {"user":{"key":"u-1","plan":"pro"}}

Somebody who was seen in several environments is written once, as last seen in the
first of them. A context that is seen again while its environment is exported may
be missing. The file holds what applications have reported of people: keep it as
you keep other data about them.`,
		Example: `  svc contexts export --environment production > people.jsonl
  svc diff main --contexts people.jsonl`,
		Args: cli.Arguments("it writes to standard output"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			return in.exportContexts(cmd.Context(), api, environments)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&environments, "environment", nil, "only contexts seen in this environment; may be repeated (default all)")
	f.add(cmd)
	return cmd
}

func (in Invocation) exportContexts(ctx context.Context, api *remote.Client, environments []string) error {
	if len(environments) == 0 {
		all, err := api.Environments(ctx)
		if err != nil {
			return err
		}
		for _, e := range all {
			environments = append(environments, e.Name)
		}
	}
	line := cli.Line(in.Stderr)
	if cli.Terminal(in.Stdout) { // the contexts show how far it has come
		line = func(string, bool) {}
	}
	written := map[[2]string]bool{}
	for _, environment := range environments {
		query := url.Values{"environment": {environment}, "limit": {"500"}} // at a time
		err := api.Pages(ctx, "/contexts/export", query, "contexts", func(row json.RawMessage) error {
			var c struct {
				Type, Key string
				Context   json.RawMessage
			}
			var text bytes.Buffer
			if json.Unmarshal(row, &c) != nil || json.Compact(&text, c.Context) != nil {
				return remote.NoAnswer("/contexts/export", "a context is not the JSON that was asked for")
			}
			if written[[2]string{c.Type, c.Key}] {
				return nil
			}
			written[[2]string{c.Type, c.Key}] = true
			if len(written)%100 == 0 {
				line(fmt.Sprintf("exporting %s: %d contexts", environment, len(written)), false)
			}
			text.WriteByte('\n')
			_, err := io.Copy(in.Stdout, &text)
			return err
		})
		if err != nil {
			return err
		}
	}
	line(cli.Plural(len(written), "context"), true)
	return nil
}

func newContextsDelete(in Invocation) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use:   "delete <type> <key>",
		Short: "Forget a person, a team or a device",
		Long: `Delete whatever is saved of a context in all environments, over the REST API: its
properties, and what tells that it was counted this month. The counts stay. It
needs the permission config.edit.standard. An application that reports the context
again has it saved again.`,
		Example: `  svc contexts delete user 7d4f
  svc contexts delete device "kiosk 12" --url https://flags.acme.example/v1 --key-file ci.key`,
		Args: cli.Arguments("svc contexts search finds the key"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := in.remote(f)
			if err != nil {
				return err
			}
			// Not in the path: not all that a type and a key may hold comes through gateways in one.
			query := url.Values{"type": {args[0]}, "key": {args[1]}}
			if err := api.Delete(cmd.Context(), "/contexts/-/-", query); err != nil {
				return err
			}
			fmt.Fprintf(in.Stderr, "the %s %s is forgotten\n", terminal.Printable(args[0]), terminal.Quote(args[1]))
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

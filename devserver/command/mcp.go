package command

import (
	"context"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/mcpserver"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
)

func newMCP(in Invocation) *cobra.Command {
	var f sourceFlags
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve tools for AI assistants, over the Model Context Protocol",
		Long: `Serve tools for flags and configuration to an AI assistant, over the Model Context
Protocol on standard input and output. The assistant starts and stops this command
itself: add it to your assistant's list of servers.

With --url it works on the workspace of an API (which needs a key): it finds items,
people and changes, says why somebody gets a value, and changes items in two steps, a
proposal in words with its impact, and its application. What it may do is what the
key may do; --read-only leaves out the tool that writes.

Without, it reads a config directory: items, values, what was edited since a commit,
and what svc verify finds. The assistant edits the files itself.

Nothing but the protocol goes to standard output. No tool tells a confidential value.`,
		Example: `  svc mcp --url https://flags.acme.example/v1 --key-file assistant.key
  svc mcp --url https://flags.acme.example/v1 --key-file assistant.key --read-only
  svc mcp --datadir ./our-config`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			o := mcpserver.Options{ReadOnly: readOnly, In: in.Stdin, Out: in.Stdout}
			var err error
			switch {
			case f.keyFile == "-":
				return cli.Usagef("--key-file -: standard input is what the assistant writes to; name a file, or put the key into %s", keyVariable)
			case f.remote():
				o.API, err = in.remote(f.remoteFlags)
			default:
				o.Directory, err = in.mcpDirectory(f.datadir)
			}
			if err != nil {
				return err
			}
			return mcpserver.Serve(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	f.add(cmd)
	flags.Lookup("url").Usage = workspaceUsage
	flags.Lookup("key-file").Usage = "file that holds a user or service-account key (default $" + keyVariable + ")"
	flags.BoolVar(&readOnly, "read-only", false, "leave out the tool that writes")
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	return cmd
}

// mcpDirectory is the config directory that is meant, as the commands of svc read it.
func (in Invocation) mcpDirectory(flag string) (*mcpserver.Directory, error) {
	path, err := in.discover(flag)
	if err != nil {
		return nil, err
	}
	return &mcpserver.Directory{
		Path: path,
		Evaluate: func(ctx context.Context, environment, at string, context *jsontree.Node, key string) (*explanation.Evaluations, error) {
			f := evaluationFlags{sourceFlags: sourceFlags{datadir: path}}
			return in.evaluateDirectory(ctx, f, evaluationRequest{Environment: environment, Context: context, Keys: []string{key}, At: at, Explain: true})
		},
		Edits: func(ctx context.Context, since string) (any, error) {
			return in.diff(ctx, diffFlags{datadir: path}, []string{since})
		},
	}, nil
}

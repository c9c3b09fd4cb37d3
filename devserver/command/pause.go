package command

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/cli"
)

func newPause(in Invocation) *cobra.Command {
	return pauseCommand(in, operation{Op: "pause"}, "paused", &cobra.Command{
		Use:   "pause <environment> [key]...",
		Short: "Have everybody served one value, and keep the rules",
		Long: `Pause flags and configs in an environment, those that you name or that have a tag, as
one commit or not at all: everybody is served one value, and the rules wait beneath it
until svc resume. A bool flag serves false; for anything else --serve says what. Where
changes of the environment have to be approved, a pause to false does not.`,
		Example: `  svc pause production new-checkout
  svc pause production --tag checkout --message "Payments are down"
  svc pause production api.timeout --serve '"PT5S"'`,
	})
}

func newResume(in Invocation) *cobra.Command {
	return pauseCommand(in, operation{Op: "resume"}, "resumed", &cobra.Command{
		Use:   "resume <environment> [key]...",
		Short: "Have the rules hold again of what is paused",
		Long: `Resume flags and configs in an environment, those that you name or that have a tag, as
one commit or not at all. Where nothing else has changed, their documents are what they
were before the pause, to the byte.`,
		Example: `  svc resume production new-checkout
  svc resume production --tag checkout --dry-run`,
	})
}

// pauseCommand has a command carry out an operation of an environment.
func pauseCommand(in Invocation, o operation, done string, cmd *cobra.Command) *cobra.Command {
	var f sourceFlags
	var message, serve, guard string
	var dryRun bool
	cmd.Args = cli.Arguments("an environment is one of the workspace, such as production")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o := o
		o.Environment, o.Keys = args[0], args[1:]
		if err := o.named(done); err != nil {
			return err
		}
		if o.Serve = json.RawMessage(serve); serve != "" && !json.Valid(o.Serve) {
			return cli.Usagef(`--serve must be JSON, such as false, 7 or '"PT5S"'`)
		}
		api, err := in.writable(f)
		if err != nil {
			return err
		}
		return in.carryOut(cmd, api, o, done, message, guard, dryRun)
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Tag, "tag", "", "what has this tag")
	if o.Op == "pause" {
		flags.StringVar(&serve, "serve", "", "what everybody is served, as JSON")
	} else {
		flags.StringVar(&guard, "guard", "", guardUsage)
	}
	flags.StringVarP(&message, "message", "m", "", "what the commit's message begins with, such as why")
	flags.BoolVar(&dryRun, "dry-run", false, "only print what would change")
	f.addWritable(cmd)
	return cmd
}

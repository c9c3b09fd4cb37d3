// Package command is the command line of svc: what each command takes, what
// it prints, and the status it exits with.
//
// What must stay true:
//
//   - Standard output carries what was asked for, standard error everything
//     else.
//   - The status is 0 for success, 1 for a failure, 2 for a command line that
//     makes no sense.
//   - An error is one line that says what would be right, or the list of all
//     problems found.
package command

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/release"
)

// Invocation is one run of a command: what it takes from the process it runs in.
type Invocation struct{ *cli.Caller }

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, args []string, c cli.Caller) int {
	return cli.Main(ctx, args, c, newRoot)
}

// Tree is all commands, for their manual pages.
func Tree() *cobra.Command {
	return newRoot(&cli.Caller{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
}

func newRoot(c *cli.Caller) *cobra.Command {
	in := Invocation{c}
	root := &cobra.Command{
		Use:   "svc",
		Short: "Feature flags and configuration that live as JSON files in git",
		Long: `svc serves feature flags and configuration that live as JSON files in git.

To begin, in the directory of an application:

  svc init      create a config directory, ./our-config
  svc serve     serve it to browser clients on http://127.0.0.1:6580
  svc verify    check it, before a commit or in CI
  svc eval      show what a flag serves to a user, and why
  svc diff      show what changed since a commit, and who is affected
  svc override  try another value, on this machine only

To change flags over HTTP, with keys, permissions and history:

  svc api       run the control plane over a git repository on disk
  svc pull      copy its workspace, or a hosted one, into a config directory
  svc push      send your changes back
  svc copy      copy rules from one environment to another
  svc mcp       give an AI assistant tools for all of this`,
		// In cobra's words: a template of our own would link text/template, for
		// which the linker has to keep every method of every type (2.7 MB).
		Version:       release.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServe(in), newVerify(in), newEval(in), newList(in), newDiff(in), newOverride(in), newInit(in), newSchema(in),
		newAPI(in), newExport(in), newImport(in), newManifest(in), newPull(in), newPush(in), newCopy(in), newPause(in), newResume(in), newSchedule(in), newUnschedule(in), newRollout(in), newGuard(in), newRequest(in), newContexts(in), newStale(in), newMCP(in), newUsage(in), newBackup(in), newRestore(in), newPreReceive(in), newHealth(in), newVersion(in))
	root.AddCommand(dataCommands(in)...)
	root.PersistentPreRunE = in.refuseForeignData
	return cli.InOrder(root)
}

// refuseForeignData refuses a data directory that nobody has named and that this user has
// not made.
func (in Invocation) refuseForeignData(cmd *cobra.Command, _ []string) error {
	flag := cmd.Flag("data")
	if flag == nil || flag.Changed {
		return nil
	}
	data := in.Absolute(flag.Value.String())
	if there, err := embedded.Exists(data); err != nil || !there || embedded.IsOwn(data) {
		return err
	}
	return fmt.Errorf("%[1]s was not made by you on this machine, or lay elsewhere: it may have come with the files around it, and then others have keys to it. If it is yours, name it: --data %[1]s", in.Display(data))
}

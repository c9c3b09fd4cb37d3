package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

// pushFlags are the flags of svc push.
type pushFlags struct {
	remoteFlags
	datadir, message, guard string
	dryRun, delete          bool
}

func newPush(in Invocation) *cobra.Command {
	var f pushFlags
	cmd := &cobra.Command{
		Use:   "push [file]...",
		Short: "Send the changes in a config directory to its workspace",
		Long: `Send the changes in a config directory since the last svc pull to its workspace, as
one commit or not at all, and print what changes. Name files to send only those.

It is refused if somebody else has changed the same item in the meantime, or if svc
verify finds errors. Items whose files were deleted here are deleted only with
--delete. svc.json is not sent: environments are managed where the workspace runs.

The key comes from ` + keyVariable + ` or from a file, never from the command line.`,
		Example: `  svc push --dry-run
  svc push --message "Launch the new checkout"
  svc push our-config/feature-flags/new-checkout.json`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, files []string) error {
			return in.push(cmd, f, files)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.datadir, "datadir", "", datadirUsage)
	f.add(cmd)
	flags.StringVarP(&f.message, "message", "m", "", "what the commit's message begins with, such as why")
	flags.StringVar(&f.guard, "guard", "", guardUsage)
	flags.BoolVar(&f.delete, "delete", false, "delete the items whose files were deleted here")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print what would change")
	return cmd
}

func (in Invocation) push(cmd *cobra.Command, f pushFlags, files []string) error {
	dir, err := in.discover(f.datadir)
	if err != nil {
		return err
	}
	options := pull.PushOptions{Delete: f.delete, Message: f.message, Guard: f.guard, DryRun: f.dryRun}
	for _, file := range files {
		path, err := filepath.Rel(dir, in.Absolute(file))
		if err != nil || !filepath.IsLocal(path) {
			return fmt.Errorf("%s is not in the directory %s", terminal.Quote(file), in.Display(dir))
		}
		options.Only = append(options.Only, filepath.ToSlash(path))
	}
	api, err := in.remote(f.remoteFlags)
	if err != nil {
		return err
	}
	push, err := pull.NewPush(cmd.Context(), api, dir, options)
	if unverified := (*pull.Unverified)(nil); errors.As(err, &unverified) {
		in.printProblems(dir, unverified.Problems)
		return errors.New("nothing pushed: svc verify refuses the directory")
	}
	if err != nil {
		return fmt.Errorf("nothing pushed: %w", err)
	}
	in.printProblems(dir, push.Overlooked)
	if push.Declaration {
		fmt.Fprintf(in.Stderr, "%s differs from what was pulled, and is not pushed: environments are made where the workspace is run\n", in.inside(dir, workspace.File))
	}
	if len(push.LeftAlone) > 0 {
		fmt.Fprintf(in.Stderr, "deleted here, and left alone in the workspace (--delete deletes them): %s\n", terminal.Escape(strings.Join(push.LeftAlone, ", ")))
	}
	if push.Nothing() {
		fmt.Fprintln(in.Stderr, "nothing to push")
		return nil
	}
	pushed, err := push.Send(cmd.Context())
	if err != nil && pushed == nil {
		return in.explainPush(dir, err)
	}
	changed := 0
	for _, item := range pushed.Items {
		for _, message := range item.Messages {
			fmt.Fprintf(in.Stdout, "%s: %s\n", in.inside(dir, item.Path), terminal.Escape(message))
		}
		if item.Changed {
			changed++
		}
	}
	in.printProblems(dir, pushed.Warnings)
	in.sayChanged(changed, terminal.Escape(pushed.CommitSHA), f.dryRun)
	return err
}

// explainPush prints why nothing was pushed, or that nobody knows.
func (in Invocation) explainPush(dir string, err error) error {
	if errors.As(err, new(*remote.Unknown)) {
		return fmt.Errorf("%w\nsvc pull --dry-run tells: files that it does not name have been pushed. If it names none, pull; else push again", err)
	}
	var refused *pull.Refused
	if !errors.As(err, &refused) {
		return fmt.Errorf("nothing pushed: %w", err)
	}
	in.printProblems(dir, refused.Problems)
	for _, by := range refused.Since {
		fmt.Fprintf(in.Stderr, "changed by %s at %s (commit %s)\n", by.AuthorName, by.Date, by.SHA)
	}
	if refused.Status == 409 {
		err = fmt.Errorf("%w\nput your versions aside, take the workspace's with svc pull --force, and change those", err)
	}
	return fmt.Errorf("nothing pushed: %w", err)
}

// printProblems prints problems of a directory's files, as svc verify does.
func (in Invocation) printProblems(dir string, problems []workspace.Problem) {
	for i, p := range problems {
		if i == maxRemarks {
			fmt.Fprintf(in.Stderr, "and %d more problems\n", len(problems)-i)
			return
		}
		fmt.Fprintln(in.Stderr, p.In(in.Display(dir)))
	}
}

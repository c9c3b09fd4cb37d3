package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

type applyFlags struct {
	dryRun, yes, overwrite bool
	message                string
}

func newApply(s *session) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply <dir>",
		Short: "Bring a workspace to the state of a config directory, by one commit",
		Long: `Bring a workspace to the state of a config directory, by one commit: the way to
edit segments and schemas, and to delete items. The directory is verified first,
then the difference is shown: what only the directory has is added, what it lacks
is deleted (but a svc.json that it lacks stays). No roles are checked; new values
that decrypt with a config, or read applications' environment variables, are listed.

On a terminal you are asked before anything is written. When somebody else has
changed the workspace in the meantime, nothing is written: run it again. If the
directory is a git repository, such as svcadmin export writes, a change that the
last 1,000 commits of its history never held is unknown to you: it is not undone,
unless --overwrite says so.`,
		Example: `  svcadmin export ./acme
  $EDITOR ./acme/segments/beta.json
  svcadmin apply ./acme --dry-run
  svcadmin apply ./acme --message 'Beta: everybody at Acme'`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, args []string) error {
			return s.apply(cmd.Context(), w, args[0], f)
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the difference and write nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.overwrite, "overwrite", false, "undo changes that the directory's git history does not have")
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "message of the commit (default what changes)")
	s.ofWorkspace(cmd)
	s.byAuthor(cmd)
	return cmd
}

func (s *session) apply(ctx context.Context, w *admin.Workspace, dir string, f applyFlags) error {
	by, err := s.signature(ctx)
	if err != nil && !f.dryRun {
		return err
	}
	plan, err := w.Plan(ctx, s.absolute(dir), s.display)
	if err != nil {
		return err
	}
	plan.Notes = append(plan.Notes, sizeNotes(plan.Wanted)...)
	var drift []string
	if !f.overwrite {
		if drift, err = plan.Drift(ctx); err != nil {
			return err
		}
	}
	s.show(plan)
	if len(drift) > 0 {
		return fmt.Errorf("the workspace has changes that the git history of %s never held, and this would undo them:\n  %s\nNothing was written. Export the workspace again and make your change there, or add --overwrite",
			s.display(s.absolute(dir)), strings.Join(drift, "\n  "))
	}
	if len(plan.Changes) == 0 || f.dryRun {
		return nil
	}
	if !f.yes {
		if err := s.ask(fmt.Sprintf("Commit this to %s as %s <%s>? [y/N] ", w.Name, by.Name, by.Email)); err != nil {
			return err
		}
	}
	commit, err := plan.Apply(ctx, by, f.message)
	if err == nil {
		fmt.Fprintf(s.Stderr, "committed %s\n", commit)
	}
	return err
}

// show prints the difference.
func (s *session) show(plan *admin.Plan) {
	for _, note := range append(plan.Warnings, plan.Notes...) {
		fmt.Fprintln(s.Stderr, terminal.Escape(note))
	}
	for _, c := range plan.Changes {
		fmt.Fprintf(s.Stdout, "%-8s %s\n", c.Action, terminal.Escape(c.Path))
		for _, message := range c.Messages {
			fmt.Fprintf(s.Stdout, "         %s\n", terminal.Escape(message))
		}
	}
	if len(plan.Changes) == 0 {
		fmt.Fprintln(s.Stderr, "the workspace is in this state already; nothing to write")
	}
}

// ask is nil when a person at a terminal says yes.
func (s *session) ask(question string) error {
	nobody := cli.Usagef("there is no terminal to ask on: add --yes to write this, or --dry-run to only see it")
	if !s.person(s.Stdin) {
		return nobody
	}
	fmt.Fprint(s.Stderr, question)
	answer, err := bufio.NewReader(s.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) { // /dev/null looks like a terminal
		fmt.Fprintln(s.Stderr)
		return nobody
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errNo
}

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
			commit, err := w.Export(cmd.Context(), s.absolute(args[0]), s.progress)
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

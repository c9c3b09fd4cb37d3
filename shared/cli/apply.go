package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/apply"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/terminal"
)

type applyFlags struct {
	dryRun, yes, overwrite bool
	message                string
}

func newApply(s Settings) *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply <dir>",
		Short: "Bring a workspace to the state of a config directory, by one commit",
		Long: `Bring a workspace to the state of a config directory, by one commit, however many
files differ. The directory is verified first, then the difference is shown: what
only the directory has is added, what it lacks is deleted. A svc.json replaces that
of the workspace, with its environments; without one that stays. No roles are checked;
new values that decrypt with a config, or read applications' environment variables,
are listed. Begin with a fresh export.

On a terminal you are asked before anything is written. What others change in the
meantime is kept, and listed; when it is one of the same files, or the workspace would
have errors with it, nothing is written: run it again. If the directory is a git
repository, such as ` + s.Program + ` export writes, a change that the last 1,000 commits of
its history never held is unknown to you: it is not undone, unless --overwrite says so.` + s.Stopped,
		Example: `  ` + s.Program + ` export ./acme
  $EDITOR ./acme/segments/beta-testers.json
  ` + s.Program + ` apply ./acme --dry-run
  ` + s.Program + ` apply ./acme --message 'Beta: everybody at Acme'`,
		Args: Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *provision.Workspace, args []string) error {
			s.bypassed(cmd, w)
			return unapproved(s.apply(cmd.Context(), w, args[0], f))
		}),
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show the difference and write nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&f.overwrite, "overwrite", false, "undo changes that the directory's git history does not have")
	cmd.Flags().StringVarP(&f.message, "message", "m", "", "message of the commit (default what changes)")
	s.bypasses(cmd)
	s.Flags(cmd)
	s.ByAuthor(cmd)
	return cmd
}

func (s Settings) apply(ctx context.Context, w *provision.Workspace, dir string, f applyFlags) error {
	by, err := s.Signature(ctx)
	if err != nil && !f.dryRun {
		return err
	}
	plan, err := apply.New(ctx, w, s.Absolute(dir), s.Display)
	if err != nil {
		return err
	}
	plan.Notes = append(plan.Notes, s.Notes(plan.Wanted)...)
	var drift []string
	if !f.overwrite {
		if drift, err = plan.Drift(ctx); err != nil {
			return err
		}
	}
	s.show(plan)
	if len(drift) > 0 {
		return fmt.Errorf("the workspace has changes that the git history of %s never held, and this would undo them:\n  %s\nNothing was written. Export the workspace again and make your change there, or add --overwrite",
			s.Display(s.Absolute(dir)), strings.Join(drift, "\n  "))
	}
	if len(plan.Changes) == 0 || f.dryRun {
		return nil
	}
	if !f.yes {
		if err := s.Ask(fmt.Sprintf("Commit this to %s as %s <%s>? [y/N] ", w.Name, by.Name, by.Email)); err != nil {
			return err
		}
	}
	commit, err := plan.Apply(ctx, by, f.message)
	if err != nil {
		return err
	}
	if n := len(plan.Kept); n > 0 {
		fmt.Fprintf(s.Stderr, "kept %d of the files, which others have changed meanwhile; the workspace has them otherwise than %s:\n", n, s.Display(s.Absolute(dir)))
		for _, path := range plan.Kept[:min(n, maxKept)] {
			fmt.Fprintf(s.Stderr, "  %s\n", terminal.Escape(path))
		}
		if n > maxKept {
			fmt.Fprintf(s.Stderr, "  and %d more\n", n-maxKept)
		}
	}
	fmt.Fprintf(s.Stderr, "committed %s\n", commit)
	return nil
}

// maxKept is how many files that were kept are listed.
const maxKept = 20

// show prints the difference.
func (s Settings) show(plan *apply.Plan) {
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

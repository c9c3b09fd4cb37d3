package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// newEnvironment makes the command environment: list, add, protect, archive.
func newEnvironment(s Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "List a workspace's environments, add one, protect or archive one",
		Long: `List a workspace's environments, add one, protect or archive one. They stand in
svc.json; each change is a commit of its own. A protected environment can only be
edited with a role that allows it. An archived one is no longer listed, served or
edited; what documents say about it stays.` + s.Stopped,
	}
	s.Flags(cmd)
	yes, no := true, false
	cmd.AddCommand(newEnvironmentList(s), newEnvironmentAdd(s),
		newEnvironmentEdit(s, "protect", "Protect an environment: only roles that allow it may edit it", provision.EnvironmentEdit{Protected: &yes}),
		newEnvironmentEdit(s, "unprotect", "Remove the protection of an environment", provision.EnvironmentEdit{Protected: &no}),
		newEnvironmentEdit(s, "archive", "Archive an environment: it is no longer listed or served", provision.EnvironmentEdit{Archived: &yes}),
		newEnvironmentReview(s),
		newEnvironmentEdit(s, "unarchive", "Bring an archived environment back", provision.EnvironmentEdit{Archived: &no}))
	return cmd
}

func newEnvironmentList(s Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the environments, archived ones too",
		Args:  Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *provision.Workspace, _ []string) error {
			ws, err := w.Read(cmd.Context())
			if err != nil {
				return err
			}
			if !ws.Declared {
				fmt.Fprintln(s.Stderr, "the workspace has no svc.json: these are the environments that its documents name")
			}
			table, reviews := [][]string{{"NAME", "TYPE", "PROTECTED", "STATE"}}, ws.Reviews()
			if len(reviews) > 0 {
				table[0] = append(table[0], "CHANGES")
			}
			for _, e := range ws.Environments {
				protected, state := "no", "active"
				if e.Protected {
					protected = "yes"
				}
				if e.Archived {
					state = "archived"
				}
				row := []string{e.Name, e.Type, protected, state}
				if review, reviewed := reviews[e.Name]; reviewed {
					row = append(row, review.Words())
				} else if len(reviews) > 0 {
					row = append(row, "at once")
				}
				table = append(table, row)
			}
			return Table(s.Stdout, table)
		}),
	}
}

func newEnvironmentAdd(s Settings) *cobra.Command {
	var kind string
	var protected bool
	cmd := &cobra.Command{
		Use:     "add <name>",
		Short:   "Add an environment",
		Long:    "Add an environment. Its name is made of lower-case letters, digits and single dashes.",
		Example: "  " + s.Program + " environment add qa --type test",
		Args:    Arguments(""),
		RunE: s.edits(func(name string) (provision.EnvironmentEdit, error) {
			e := provision.EnvironmentEdit{Name: name, Add: true, Type: kind}
			if protected {
				e.Protected = &protected
			}
			return e, nil
		}),
	}
	cmd.Flags().StringVar(&kind, "type", "", "development, test, staging or production (default by its name)")
	cmd.Flags().BoolVar(&protected, "protected", false, "only roles that allow it may edit it")
	s.ByAuthor(cmd)
	s.bypasses(cmd)
	return cmd
}

func newEnvironmentEdit(s Settings, use, short string, e provision.EnvironmentEdit) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use + " <name>",
		Short:   short,
		Example: "  " + s.Program + " environment " + use + " staging",
		Args:    Arguments(""),
		RunE: s.edits(func(name string) (provision.EnvironmentEdit, error) {
			e.Name = name
			return e, nil
		}),
	}
	s.ByAuthor(cmd)
	s.bypasses(cmd)
	return cmd
}

// newEnvironmentReview makes the command environment review.
func newEnvironmentReview(s Settings) *cobra.Command {
	review, off := workspace.Review{}, false
	cmd := &cobra.Command{
		Use:   "review <name>",
		Short: "Have changes of an environment be approved by others first",
		Long: `Have changes of what an environment serves be approved by others first. Who wants to
change it makes a change request, which others approve. What is reviewed, and which
environments there are, is then changed in the same way, or with --bypass-review.`,
		Example: "  " + s.Program + " environment review production --approvals 1 --role protected_engineer\n  " + s.Program + " environment review production --off --bypass-review",
		Args:    Arguments(""),
		RunE: s.edits(func(name string) (provision.EnvironmentEdit, error) {
			e := provision.EnvironmentEdit{Name: name, Reviewed: true, Review: &review}
			if off {
				e.Review = nil
			}
			return e, access.CheckRoles(review.Roles)
		}),
	}
	cmd.Flags().IntVar(&review.Approvals, "approvals", 1, "by how many people")
	cmd.Flags().StringArrayVar(&review.Roles, "role", nil, "one of which each of them has; may be repeated (default any that may make the change)")
	cmd.Flags().BoolVar(&review.AuthorMayApprove, "author-may-approve", false, "who proposes a change may be one of them")
	cmd.Flags().BoolVar(&off, "off", false, "changes need no approval any more")
	s.ByAuthor(cmd)
	s.bypasses(cmd)
	return cmd
}

// bypassReview is the flag of commands that others may have to approve.
const bypassReview = "bypass-review"

func (s Settings) bypasses(cmd *cobra.Command) {
	cmd.Flags().Bool(bypassReview, false, "make the change without the approvals that it needs; the audit trail tells")
}

// bypassed lets a workspace be changed without approvals where the flag says so.
func (s Settings) bypassed(cmd *cobra.Command, w *provision.Workspace) {
	if set, _ := cmd.Flags().GetBool(bypassReview); set {
		w.Bypassed = func(ctx context.Context, environments []string) error {
			return s.Registry(cmd, func(r *access.Registry) error { return r.Bypassed(ctx, environments) })
		}
	}
}

// unapproved adds the way out to the refusal of what others have to approve.
func unapproved(err error) error {
	if _, is := errors.AsType[*repository.Unreviewed](err); is {
		return fmt.Errorf("%w; --%s makes the change all the same, and the audit trail tells", err, bypassReview)
	}
	return err
}

// edits makes a command's function of an edit. Whose it is has to be known before the
// workspace is looked for.
func (s Settings) edits(edit func(name string) (provision.EnvironmentEdit, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		by, err := s.Signature(cmd.Context())
		if err != nil {
			return err
		}
		e, err := edit(args[0])
		if err != nil {
			return err
		}
		return s.Open(cmd, func(w *provision.Workspace) error {
			s.bypassed(cmd, w)
			commit, err := w.EditEnvironment(cmd.Context(), e, by)
			if errors.Is(err, provision.ErrUnchanged) {
				fmt.Fprintln(s.Stderr, err)
				return nil
			}
			if err == nil {
				fmt.Fprintf(s.Stderr, "committed %s\n", commit)
			}
			return unapproved(err)
		})
	}
}

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/provision"
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
			table := [][]string{{"NAME", "TYPE", "PROTECTED", "STATE"}}
			for _, e := range ws.Environments {
				protected, state := "no", "active"
				if e.Protected {
					protected = "yes"
				}
				if e.Archived {
					state = "archived"
				}
				table = append(table, []string{e.Name, e.Type, protected, state})
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
		RunE: s.on(func(cmd *cobra.Command, w *provision.Workspace, args []string) error {
			e := provision.EnvironmentEdit{Name: args[0], Add: true, Type: kind}
			if protected {
				e.Protected = &protected
			}
			return s.editEnvironment(cmd, w, e)
		}),
	}
	cmd.Flags().StringVar(&kind, "type", "", "development, test, staging or production (default by its name)")
	cmd.Flags().BoolVar(&protected, "protected", false, "only roles that allow it may edit it")
	s.ByAuthor(cmd)
	return cmd
}

func newEnvironmentEdit(s Settings, use, short string, e provision.EnvironmentEdit) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use + " <name>",
		Short:   short,
		Example: "  " + s.Program + " environment " + use + " staging",
		Args:    Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *provision.Workspace, args []string) error {
			e.Name = args[0]
			return s.editEnvironment(cmd, w, e)
		}),
	}
	s.ByAuthor(cmd)
	return cmd
}

func (s Settings) editEnvironment(cmd *cobra.Command, w *provision.Workspace, e provision.EnvironmentEdit) error {
	by, err := s.Signature(cmd.Context())
	if err != nil {
		return err
	}
	commit, err := w.EditEnvironment(cmd.Context(), e, by)
	if errors.Is(err, provision.ErrUnchanged) {
		fmt.Fprintln(s.Stderr, err)
		return nil
	}
	if err == nil {
		fmt.Fprintf(s.Stderr, "committed %s\n", commit)
	}
	return err
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/terminal"
)

// newPrincipal makes the command principal: create, list, disable, enable, roles.
func newPrincipal(s Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "principal",
		Short: "List people and service accounts, change their roles, disable them",
		Long: "List people and service accounts of " + s.Where + `, change their roles, disable
them. A principal is named by its id, its e-mail address or its name.
` + s.Note,
	}
	s.Flags(cmd)
	cmd.AddCommand(
		newPrincipalCreate(s),
		newPrincipalList(s),
		newPrincipalSwitch(s, "disable", "Refuse all keys of a principal", true),
		newPrincipalSwitch(s, "enable", "Accept the keys of a disabled principal again", false),
		newPrincipalRoles(s),
	)
	return cmd
}

// findPrincipal finds the one that a person names.
func (s Settings) findPrincipal(ctx context.Context, r *access.Registry, name string) (access.Principal, error) {
	principals, err := r.Principals(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	var found []access.Principal
	for _, p := range principals {
		if string(p.ID) == name || strings.EqualFold(p.Email, name) && name != "" || p.Name == name {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return access.Principal{}, fmt.Errorf("there is no principal %q; %s principal list shows them", name, s.Program)
	case 1:
		return found[0], nil
	}
	return access.Principal{}, fmt.Errorf("%d principals are named %q; name one by its id: %s principal list shows them", len(found), name, s.Program)
}

func newPrincipalList(s Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List people and service accounts",
		Args:  Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.Registry(cmd, func(r *access.Registry) error {
				principals, err := r.Principals(cmd.Context())
				if err != nil {
					return err
				}
				return s.printPrincipals(principals)
			})
		},
	}
}

func (s Settings) printPrincipals(principals []access.Principal) error {
	rows := [][]string{{"ID", "TYPE", "NAME", "EMAIL", "ROLES", "STATE"}}
	for _, p := range principals {
		state := "enabled"
		if p.Disabled {
			state = "disabled"
		}
		rows = append(rows, []string{string(p.ID), strings.ReplaceAll(string(p.Type), "_", "-"), p.Name, p.Email, strings.Join(p.Given(), ","), state})
	}
	return Table(s.Stdout, rows)
}

func newPrincipalSwitch(s Settings, use, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:     use + " <principal>",
		Short:   short,
		Example: "  " + s.Program + " principal " + use + " ada@acme.example",
		Args:    Arguments("principal list shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.Registry(cmd, func(r *access.Registry) error {
				p, err := s.findPrincipal(cmd.Context(), r, args[0])
				if err != nil {
					return err
				}
				if err := r.SetDisabled(cmd.Context(), p.ID, disabled); err != nil {
					return err
				}
				fmt.Fprintf(s.Stderr, "%sd %s (%s)\n", use, terminal.Escape(p.Name), p.ID)
				return nil
			})
		},
	}
}

func newPrincipalRoles(s Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "roles <principal> <role>...",
		Short: "Replace the roles of a principal",
		Long:  "Replace the roles of a principal by these; member alone removes all others.\n\n" + rolesInWords(),
		Example: "  " + s.Program + ` principal roles ada@acme.example engineer
  ` + s.Program + " principal roles ci member",
		Args: Arguments("principal list shows the principals, --help the roles"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := access.CheckRoles(args[1:]); err != nil {
				return Usagef("%v", err)
			}
			return s.Registry(cmd, func(r *access.Registry) error {
				p, err := s.findPrincipal(cmd.Context(), r, args[0])
				if err != nil {
					return err
				}
				if err := r.SetRoles(cmd.Context(), p.ID, args[1:]); err != nil {
					return err
				}
				fmt.Fprintf(s.Stderr, "%s (%s) now has the roles: %s\n", terminal.Escape(p.Name), p.ID, strings.Join(args[1:], ", "))
				return nil
			})
		},
	}
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
)

func newPrincipal(in Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "principal",
		Short: "Disable people and service accounts, or change their roles",
		Long: `Disable people and service accounts of a data directory, or change their roles. A
principal is named by its id, its e-mail address or its name. It works while
svc api serves the directory, and counts from the next request on.`,
		Args: cobra.NoArgs,
	}
	var data string
	cmd.PersistentFlags().StringVar(&data, "data", defaultData, "data directory of svc api")
	cmd.AddCommand(
		newPrincipalList(in, &data),
		newPrincipalSwitch(in, &data, "disable", "Let none of a principal's keys in", true),
		newPrincipalSwitch(in, &data, "enable", "Let a disabled principal's keys in again", false),
		newPrincipalRoles(in, &data),
	)
	return cmd
}

// findPrincipal finds the one that a person names.
func findPrincipal(ctx context.Context, r *local.Registry, name string) (access.Principal, error) {
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
		return access.Principal{}, fmt.Errorf("there is no principal %q; svc principal list shows them", name)
	case 1:
		return found[0], nil
	}
	return access.Principal{}, fmt.Errorf("%d principals are named %q; name one by its id: svc principal list shows them", len(found), name)
}

func newPrincipalList(in Invocation, data *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List people and service accounts",
		Args:  cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return in.withRegistry(*data, func(r *local.Registry) error {
				principals, err := r.Principals(cmd.Context())
				if err != nil {
					return err
				}
				return in.printPrincipals(principals)
			})
		}),
	}
}

func (in Invocation) printPrincipals(principals []access.Principal) error {
	rows := [][]string{{"ID", "TYPE", "NAME", "EMAIL", "ROLES", "STATE"}}
	for _, p := range principals {
		state := "enabled"
		if p.Disabled {
			state = "disabled"
		}
		rows = append(rows, []string{string(p.ID), string(p.Type), p.Name, p.Email, strings.Join(p.Roles, ","), state})
	}
	return in.printTable(rows)
}

func newPrincipalSwitch(in Invocation, data *string, use, short string, disabled bool) *cobra.Command {
	return &cobra.Command{
		Use:   use + " <principal>",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			return in.withRegistry(*data, func(r *local.Registry) error {
				p, err := findPrincipal(cmd.Context(), r, args[0])
				if err != nil {
					return err
				}
				if err := r.SetDisabled(cmd.Context(), p.ID, disabled); err != nil {
					return err
				}
				fmt.Fprintf(in.Stderr, "%sd %s (%s)\n", use, p.Name, p.ID)
				return nil
			})
		}),
	}
}

func newPrincipalRoles(in Invocation, data *string) *cobra.Command {
	return &cobra.Command{
		Use:   "roles <principal> <role>...",
		Short: "Give a principal these roles in place of those it has",
		Long:  "Give a principal these roles in place of those it has; member alone takes all others away.\n\nRoles: " + strings.Join(access.Roles(), ", "),
		Args:  cobra.MinimumNArgs(2),
		RunE: run(func(cmd *cobra.Command, args []string) error {
			for _, role := range args[1:] {
				if !slices.Contains(access.Roles(), role) {
					return usagef("there is no role %q; roles are %s", role, strings.Join(access.Roles(), ", "))
				}
			}
			return in.withRegistry(*data, func(r *local.Registry) error {
				p, err := findPrincipal(cmd.Context(), r, args[0])
				if err != nil {
					return err
				}
				if err := r.SetRoles(cmd.Context(), p.ID, args[1:]); err != nil {
					return err
				}
				fmt.Fprintf(in.Stderr, "%s (%s) now has the roles: %s\n", p.Name, p.ID, strings.Join(args[1:], ", "))
				return nil
			})
		}),
	}
}

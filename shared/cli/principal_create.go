package cli

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/terminal"
)

func newPrincipalCreate(s Settings) *cobra.Command {
	var p access.Principal
	var kind string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Add a person or a service account that has no key yet",
		Long: `Add a person or a service account that has no key yet. (key create adds its
principal by itself; use this to give somebody roles before a key.) Standard
output is the id.

` + rolesInWords(),
		Example: "  " + s.Program + ` principal create --kind user --name "Ada Lovelace" --email ada@acme.example --role engineer`,
		Args:    Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kind != "user" && kind != "service-account" {
				return Usagef("--kind must be user or service-account")
			}
			id, err := access.NewID(rand.Reader)
			if err != nil {
				return err
			}
			p.ID, p.Type, p.Name = id, access.PrincipalType(kinds[kind]), access.PlainName(p.Name)
			if err := p.Check(); err != nil {
				return Usagef("%v", err)
			}
			return s.Registry(cmd, func(r *access.Registry) error {
				found, created, err := r.EnsurePrincipal(cmd.Context(), p)
				if err == nil && !created {
					err = fmt.Errorf("%s is there already, as %s, with the roles: %s", terminal.Escape(found.Name), found.ID, strings.Join(found.Roles, ", "))
				}
				if err == nil {
					fmt.Fprintln(s.Stdout, found.ID)
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kind, "kind", "", "user or service-account")
	flags.StringVar(&p.Name, "name", "", "name, which stands in commits")
	flags.StringVar(&p.Email, "email", "", "e-mail address of a user")
	flags.StringArrayVar(&p.Roles, "role", nil, "role; may be repeated")
	return cmd
}

package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/minting"
	"svc.example/svc/shared/terminal"
)

// newcomer is a principal to be made.
type newcomer struct {
	kind, name, email string
	roles             []string
}

func newPrincipalCreate(s Settings) *cobra.Command {
	var n newcomer
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Add a person or a service account that has no key yet",
		Long: `Add a person or a service account that has no key yet; key create adds one by the
way, so this is for who is to have roles first. Standard output is its id.

` + rolesInWords(),
		Example: "  " + s.Program + ` principal create --kind user --name "Ada Lovelace" --email ada@acme.example --role engineer`,
		Args:    Arguments(""),
		RunE: Run(func(cmd *cobra.Command, _ []string) error {
			p, err := n.principal()
			if err != nil {
				return err
			}
			return s.Principals(cmd, func(r Principals) error {
				found, created, err := r.EnsurePrincipal(cmd.Context(), p)
				if err == nil && !created {
					err = fmt.Errorf("%s is there already, as %s, with the roles: %s", terminal.Escape(found.Name), found.ID, strings.Join(found.Roles, ", "))
				}
				if err == nil {
					fmt.Fprintln(s.Stdout, found.ID)
				}
				return err
			})
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&n.kind, "kind", "", "user or service-account")
	flags.StringVar(&n.name, "name", "", "name, which stands in commits")
	flags.StringVar(&n.email, "email", "", "e-mail address of a user")
	flags.StringArrayVar(&n.roles, "role", nil, "role; may be repeated")
	return cmd
}

func (n newcomer) principal() (access.Principal, error) {
	p := access.Principal{Name: minting.PlainName(n.name), Email: n.email, Roles: n.roles}
	var problems []error
	switch n.kind {
	case "user":
		p.Type = access.PrincipalUser
	case "service-account":
		p.Type = access.PrincipalServiceAccount
		if n.email != "" {
			problems = append(problems, Usagef("only a user has an e-mail address"))
		}
	default:
		problems = append(problems, Usagef("--kind is user or service-account"))
	}
	if p.Name == "" {
		problems = append(problems, Usagef("--name is needed"))
	}
	for _, role := range n.roles {
		if !slices.Contains(access.Roles(), role) {
			problems = append(problems, Usagef("there is no role %q; roles are %s", role, strings.Join(access.Roles(), ", ")))
		}
	}
	var err error
	if p.ID, err = access.NewID(rand.Reader); err != nil {
		return p, err
	}
	return p, errors.Join(problems...)
}

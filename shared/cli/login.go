package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/baseurl"
)

// newLogin makes the command login.
func newLogin(s Settings) *cobra.Command {
	q := access.KeyRequest{Kind: access.KindOneTime, Expires: access.OneTimeFor}
	address := s.Address
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Print an address that signs a person in to the console, once",
		Long: `Print an address that signs a person in to the console: it works once, within 10
minutes, and the session lasts 8 hours. Whoever opens it is signed in as that person,
so give it to nobody else. A person who is new is added with the roles in --role.

The key in the address stands behind #, which browsers send to no server.

` + rolesInWords(),
		Example: "  " + s.Program + ` login --name "Ada Lovelace" --email ada@acme.example --role admin --role engineer`,
		Args:    Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return Usagef("--public-url is missing: where people open the console, such as https://flags.example.com")
			}
			base, ok := baseurl.Parse(address)
			if !ok {
				return Usagef("--public-url must be an address like https://flags.example.com")
			}
			return s.createKey(cmd, q, func(key access.Key) error {
				if _, err := fmt.Fprintln(s.Stdout, SignInAddress(strings.TrimSuffix(base.String(), "/v1"), key)); err != nil {
					return errors.Join(err, errors.New("the address could not be printed; make another"))
				}
				fmt.Fprintf(s.Stderr, "for %s, once, within 10 minutes\n", access.PlainName(q.Name))
				return nil
			})
		},
	}
	s.Flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&q.Name, "name", "", "whom it signs in; the name stands in commits")
	flags.StringVar(&q.Email, "email", "", "their e-mail address; it can be left out where nobody else has the name")
	flags.StringArrayVar(&q.Roles, "role", nil, "role of somebody who is new; may be repeated")
	flags.StringVar(&address, "public-url", address, "where people open the console")
	return cmd
}

// SignInAddress is where the console spends a one-time key.
func SignInAddress(base string, key access.Key) string {
	return base + "/console/#sign-in=" + key.Reveal()
}

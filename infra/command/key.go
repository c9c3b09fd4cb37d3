package command

import (
	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/minting"
)

func newKeys(s *session) *cobra.Command { return cli.NewKey(s.registry()) }
func newAudit(s *session) *cobra.Command {
	return cli.NewAudit(s.registry(), func(cmd *cobra.Command) ([]audit.Event, error) {
		w, err := s.open(cmd.Context())
		if err != nil {
			return nil, err
		}
		return w.Audit(cmd.Context())
	})
}

func newPrincipals(s *session) *cobra.Command { return cli.NewPrincipal(s.registry()) }

// registry says how the commands on keys and principals reach a workspace.
func (s *session) registry() cli.Settings {
	return cli.Settings{
		Program: "svcadmin", Stdout: s.Stdout, Stderr: s.Stderr, Where: "a workspace",
		Note:  "It counts from the next request on.",
		Flags: s.ofWorkspace,
		Principals: func(cmd *cobra.Command, work func(cli.Principals) error) error {
			w, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			return work(w.Registry().By(s.actor(cmd.Context())))
		},
		Keys: func(cmd *cobra.Command, work func(cli.Keys) error) error {
			w, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			return work(w.Registry().By(s.actor(cmd.Context())))
		},
		Mint: func(cmd *cobra.Command, r minting.Request) (access.Key, access.Principal, error) {
			if err := r.Check(); err != nil {
				return access.Key{}, access.Principal{}, err
			}
			r.By = s.actor(cmd.Context())
			w, err := s.open(cmd.Context())
			if err != nil {
				return access.Key{}, access.Principal{}, err
			}
			return w.Mint(cmd.Context(), r)
		},
	}
}

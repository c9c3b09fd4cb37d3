package command

import (
	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/cli"
)

func newAudit(s *session) *cobra.Command {
	return cli.NewAudit(s.registry(), func(cmd *cobra.Command, newest int) ([]audit.Event, error) {
		w, err := s.open(cmd.Context())
		if err != nil {
			return nil, err
		}
		return w.Audit(cmd.Context(), newest)
	})
}

// registry says how the commands on keys and principals reach a workspace.
func (s *session) registry() cli.Settings {
	return cli.Settings{
		Caller: s.Caller, Program: "svcadmin", Where: "a workspace",
		Note:  "It takes effect with the next request.",
		Flags: s.ofWorkspace,
		Registry: func(cmd *cobra.Command, work func(*access.Registry) error) error {
			w, err := s.open(cmd.Context())
			if err != nil {
				return err
			}
			return work(w.Registry().By(s.Actor(cmd.Context())))
		},
		IssueKey: func(cmd *cobra.Command, q access.KeyRequest) (access.Key, access.Principal, error) {
			if err := q.Check(); err != nil {
				return access.Key{}, access.Principal{}, err
			}
			w, err := s.open(cmd.Context())
			if err != nil {
				return access.Key{}, access.Principal{}, err
			}
			return w.IssueKey(cmd.Context(), s.Actor(cmd.Context()), q)
		},
	}
}

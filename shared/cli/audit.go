package cli

import (
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
)

func newAudit(s Settings) *cobra.Command {
	var asJSON bool
	var newest int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who made, revoked and changed which key, role and environment",
		Long: "Show who made, revoked and changed which key, role and environment of\n" + s.Where + `, and when, oldest first. Changes of keys and roles are recorded together
with the change and never edited; changes by versions of svc without this record
are missing. Environments are declared in svc.json, so their changes are read
from its git history, with the authors of the commits.

A change is by the person who ran the command, as the system or ` + AuthorVariable + `
names them. It proves nothing against somebody who lies.`,
		Example: "  " + s.Program + " audit --newest 100",
		Args:    Arguments(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if newest < 0 || cmd.Flags().Changed("newest") && newest == 0 {
				return Usagef("--newest takes a number from 1 on")
			}
			events, err := s.Audit(cmd, newest)
			if err != nil {
				return err
			}
			if asJSON {
				return JSON(s.Stdout, map[string][]audit.Event{"events": append([]audit.Event{}, events...)})
			}
			rows := [][]string{{"WHEN", "BY", "WHAT"}}
			for _, e := range events {
				rows = append(rows, []string{e.At.UTC().Format(time.RFC3339), e.By, e.Words()})
			}
			return Table(s.Stdout, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&newest, "newest", 0, "show only the last so many changes, and read no more (default all)")
	s.Flags(cmd)
	return cmd
}

// AuthorVariable is the environment variable that says who runs a command.
const AuthorVariable = "SVC_AUTHOR"

const maxActor = 200

// Actor is who runs a command, for the audit trail: as the variable says, else
// the user that the system knows, and the machine.
func Actor(getenv func(string) string) string {
	who := access.PlainName(getenv(AuthorVariable))
	if who == "" {
		who = "unknown"
		if u, err := user.Current(); err == nil && u.Username != "" {
			who = u.Username
		}
		if host, err := os.Hostname(); err == nil {
			who += "@" + host
		}
	}
	if len(who) > maxActor {
		who = strings.ToValidUTF8(who[:maxActor], "")
	}
	return who
}

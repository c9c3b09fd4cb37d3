package cli

import (
	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/webhook"
)

// Settings are in what the commands of a program differ.
type Settings struct {
	*Caller
	Program string // svc, svcadmin
	// Where is what the keys and principals are those of, in the help: "a data
	// directory". Note ends the help of each group on them, and Stopped that of the
	// commands that change a workspace in its stores.
	Where, Note, Stopped string
	// Address is where people open the console, as far as that is known.
	Address string
	// Flags adds the flags that say of which workspace the commands speak.
	Flags func(cmd *cobra.Command)
	// Registry calls work with the registry that the flags name.
	Registry func(cmd *cobra.Command, work func(*access.Registry) error) error
	// IssueKey issues a key, once it is sure that the workspace has the
	// environment that it is for.
	IssueKey func(cmd *cobra.Command, q access.KeyRequest) (access.Key, access.Principal, error)
	// Audit returns the newest so many events, or with 0 all, oldest first.
	Audit func(cmd *cobra.Command, newest int) ([]audit.Event, error)
	// Open calls work with the workspace that the flags name.
	Open func(cmd *cobra.Command, work func(w *provision.Workspace) error) error
	// Webhooks calls work with the webhooks of the workspace that the flags name. How they are
	// reached is filled in.
	Webhooks func(cmd *cobra.Command, work func(*webhook.Manager) error) error
	// Notes are what else is to be known of a workspace that holds these files.
	Notes func(files map[string][]byte) []string
}

// Commands are those of every program: key, login, principal, audit, environment, apply
// and webhook.
func (s Settings) Commands() []*cobra.Command {
	return []*cobra.Command{newKey(s), newLogin(s), newPrincipal(s), newAudit(s), newEnvironment(s), newApply(s), newWebhook(s)}
}

// on makes a command's function of work on the workspace.
func (s Settings) on(work func(cmd *cobra.Command, w *provision.Workspace, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return s.Open(cmd, func(w *provision.Workspace) error { return work(cmd, w, args) })
	}
}

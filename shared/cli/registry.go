package cli

import (
	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
)

// Settings are in what the commands of a program differ.
type Settings struct {
	*Caller
	Program string // svc, svcadmin
	// Where is what the keys and principals are those of, in the help: "a data
	// directory". Note ends the help of each group.
	Where, Note string
	// Flags adds the flags that say of which workspace the commands speak.
	Flags func(cmd *cobra.Command)
	// Registry calls work with the registry that the flags name.
	Registry func(cmd *cobra.Command, work func(*access.Registry) error) error
	// IssueKey issues a key, once it is sure that the workspace has the
	// environment that it is for.
	IssueKey func(cmd *cobra.Command, q access.KeyRequest) (access.Key, access.Principal, error)
}

package cli

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/minting"
)

// Principals are those of a workspace.
type Principals interface {
	Principals(ctx context.Context) ([]access.Principal, error)
	SetDisabled(ctx context.Context, id access.ID, disabled bool) error
	SetRoles(ctx context.Context, id access.ID, roles []string) error
	EnsurePrincipal(ctx context.Context, p access.Principal) (found access.Principal, created bool, err error)
}

// Keys are those of a workspace.
type Keys interface {
	Principals(ctx context.Context) ([]access.Principal, error)
	Keys(ctx context.Context) ([]access.KeyRecord, error)
	// LastUses are days, such as 2026-11-22, by the ids of the keys.
	LastUses(ctx context.Context) (map[access.ID]string, error)
	RevokeKey(ctx context.Context, id access.ID, at time.Time) (access.KeyRecord, error)
}

// Settings are in what the commands of a program differ.
type Settings struct {
	Program string // svc, svcadmin
	Stdout  io.Writer
	Stderr  io.Writer
	// Where is what the keys and principals are those of, in the help: "a data
	// directory". Note ends the help of each group.
	Where, Note string
	// Flags adds the flags that say of which workspace the commands speak.
	Flags func(cmd *cobra.Command)
	// Principals and Keys call work with what the flags name.
	Principals func(cmd *cobra.Command, work func(Principals) error) error
	Keys       func(cmd *cobra.Command, work func(Keys) error) error
	// Mint makes a key.
	Mint func(cmd *cobra.Command, r minting.Request) (access.Key, access.Principal, error)
}

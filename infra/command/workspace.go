package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
)

func newWorkspace(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workspace",
		Short: "Create, list and recover workspaces, and open or close them",
	}
	cmd.AddCommand(newWorkspaceCreate(s), newWorkspaceList(s), newWorkspaceRecover(s),
		newSwitch(s, "billing", "active", "inactive", "Let a workspace be edited, or only read",
			"With an inactive subscription every write is answered with 402; reading and\ndelivery go on.",
			func(w *access.Workspace, on bool) { w.BillingInactive = !on }),
		newSwitch(s, "provisioning", "on", "off", "Close a workspace while it is being set up, or open it",
			"While it is on every request is answered with 503.",
			func(w *access.Workspace, on bool) { w.Provisioning = on }))
	return cmd
}

func newWorkspaceCreate(s *session) *cobra.Command {
	var from string
	var withKey bool
	cmd := &cobra.Command{
		Use:   "create <name>",
		Short: "Create a workspace: empty, or from a config directory or a git repository",
		Long: `Create a workspace. It is empty unless --from names a config directory, whose files
become its first commit, or the root of a git repository, which is imported with its
whole history and the same commit ids.

Standard output is the workspace's id or, with --key, a first key for you, which
is shown only once.`,
		Example: `  svcadmin workspace create acme --from ./our-config
  svcadmin workspace create acme --from ./flags-repository --key > key`,
		Args: cli.Arguments(""),
		RunE: s.with(func(cmd *cobra.Command, stores *admin.Stores, args []string) error {
			return s.createWorkspace(cmd.Context(), stores, args[0], from, withKey)
		}),
	}
	cmd.Flags().StringVar(&from, "from", "", "config directory or git repository to start from")
	cmd.Flags().BoolVar(&withKey, "key", false, "create a first key, which may edit everything, and print it")
	s.ByAuthor(cmd)
	return cmd
}

func (s *session) createWorkspace(ctx context.Context, stores *admin.Stores, name, from string, withKey bool) error {
	by, unknown := s.Signature(ctx)
	if unknown != nil {
		if s.Author != "" || withKey {
			return unknown
		}
		by = repository.Committer(s.Now())
	}
	c := admin.Creation{Name: name, Author: by, Progress: s.progress}
	if from != "" {
		source, err := source.Read(ctx, s.Absolute(from), s.Display)
		if err != nil {
			return err
		}
		for _, note := range slices.Concat(source.Notes, sizeNotes(source.Files)) {
			fmt.Fprintln(s.Stderr, note)
		}
		c.Source = &source
	}
	if err := s.refuseTwin(ctx, stores, name); err != nil {
		return err
	}
	w, err := stores.Create(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "created the workspace %s (%s)\n", w.Name, w.ID)
	if !withKey {
		fmt.Fprintln(s.Stdout, w.ID)
		return nil
	}
	key, p, err := w.IssueKey(ctx, s.Actor(ctx), access.KeyRequest{
		Kind: access.KindUser, Name: by.Name, Email: by.Email, Roles: []string{"protected_engineer"},
	})
	if err != nil {
		return fmt.Errorf("the workspace was created, but not its first key; svcadmin key create creates one: %w", err)
	}
	return cli.ShowKey(s.Stdout, s.Stderr, key, p.Name)
}

// refuseTwin keeps names apart, so that they can stand for the ids. Names that
// only a newer version can read keep nobody from creating: two workspaces of one
// name can still be told by their ids.
func (s *session) refuseTwin(ctx context.Context, stores *admin.Stores, name string) error {
	all, err := stores.Workspaces(ctx)
	for _, w := range all {
		if w.Name == access.PlainName(name) {
			return fmt.Errorf("there is a workspace %s already (%s)", w.Name, w.ID)
		}
	}
	if errors.Is(err, repository.ErrNewer) {
		fmt.Fprintf(s.Stderr, "warning: whether one of these is called %s too cannot be seen: %v\n", name, err)
		return nil
	}
	return err
}

// workspaceRow is a workspace as workspace list --json shows it.
type workspaceRow struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Billing      string `json:"billing"`
	Provisioning bool   `json:"provisioning"`
}

func newWorkspaceList(s *session) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workspaces",
		Args:  cli.Arguments(""),
		RunE: s.with(func(cmd *cobra.Command, stores *admin.Stores, _ []string) error {
			all, newer := stores.Workspaces(cmd.Context())
			if newer != nil && (len(all) == 0 || !errors.Is(newer, repository.ErrNewer)) {
				return newer
			}
			rows := []workspaceRow{}
			table := [][]string{{"ID", "NAME", "BILLING", "STATE"}}
			for _, w := range all {
				row := workspaceRow{w.ID, w.Name, "active", w.Provisioning}
				state := "open"
				if w.BillingInactive {
					row.Billing = "inactive"
				}
				if w.Provisioning {
					state = "provisioning"
				}
				rows = append(rows, row)
				table = append(table, []string{w.ID, w.Name, row.Billing, state})
			}
			if asJSON {
				return errors.Join(cli.JSON(s.Stdout, map[string][]workspaceRow{"workspaces": rows}), newer)
			}
			return errors.Join(cli.Table(s.Stdout, table), newer)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newSwitch makes a command that sets one of two states.
func newSwitch(s *session, use, on, off, short, long string, set func(w *access.Workspace, on bool)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use + " " + on + "|" + off,
		Short: short,
		Long:  short + ".\n\n" + long + " It takes effect with the next request.",
		Example: "  svcadmin workspace " + use + " " + on + `
  svcadmin workspace ` + use + " " + off,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != on && args[0] != off {
				return cli.Usagef("say %s or %s", on, off)
			}
			return nil
		},
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, args []string) error {
			err := w.Registry().By(s.Actor(cmd.Context())).SetWorkspace(cmd.Context(), func(record *access.Workspace) { set(record, args[0] == on) })
			if err == nil {
				fmt.Fprintf(s.Stderr, "%s: %s is %s\n", w.Name, use, args[0])
			}
			return err
		}),
	}
	s.ofWorkspace(cmd)
	return cmd
}

func newTable(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Create the table, where no template does",
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "create",
		Short: "Create the table on a stand-in for DynamoDB",
		Long: `Create the table. On AWS the template creates it, with backups and alarms; this is
for stand-ins, for trying things out, and for a restore where the table is lost: it has
neither expiry, point-in-time recovery nor deletion protection. A table that exists is
left alone.`,
		Args: cli.Arguments(""),
		RunE: s.with(func(cmd *cobra.Command, stores *admin.Stores, _ []string) error {
			return stores.CreateTable(cmd.Context())
		}),
	})
	return cmd
}

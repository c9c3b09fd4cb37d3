package command

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/terminal"
)

func newFsck(s *session) *cobra.Command {
	var fix bool
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check that what is stored of a workspace is undamaged, and repair it",
		Long: `Check what is stored of a workspace: that the packs are there and undamaged, that
git has all that the head needs, that the rows of the table say what git says, and
that the snapshot readers begin with is right. Every problem is a line of standard
output; the exit status is 1 when there are any.

With --fix the rows and the snapshot are rebuilt from git, if git has all that is
needed. What git itself lacks cannot be repaired: restore the pack from an earlier
version of its object in the bucket or from a backup (svcadmin restore --git), or go
back to an undamaged commit with svcadmin reindex --head; svcadmin tips lists them.`,
		Example: `  svcadmin fsck
  svcadmin fsck --fix`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
			return s.fsck(cmd, w, fix)
		}),
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "repair what can be rebuilt from git")
	s.ofWorkspace(cmd)
	return cmd
}

func (s *session) fsck(cmd *cobra.Command, w *admin.Workspace, fix bool) error {
	check := admin.Checking{Progress: s.progress}
	if !fix {
		found, err := w.Check(cmd.Context(), check)
		return errors.Join(err, s.verdict(w, found, err))
	}
	found, left, err := w.Repair(cmd.Context(), check)
	if err == nil && len(found.Problems) > 0 && len(left.Problems) == 0 {
		for _, p := range found.Problems {
			fmt.Fprintln(s.Stdout, "mended: "+terminal.Escape(p.What))
		}
	}
	return errors.Join(err, s.verdict(w, left, err))
}

// verdict prints what is wrong, and is an error when something is.
func (s *session) verdict(w *admin.Workspace, c admin.Checked, failed error) error {
	mendable := false
	for _, p := range c.Problems {
		fmt.Fprintln(s.Stdout, terminal.Escape(p.What))
		mendable = mendable || p.Repairable
	}
	if failed != nil {
		return nil
	}
	fmt.Fprintf(s.Stderr, "%s: %s, %s, %s", w.Name, cli.Plural(c.Commits, "commit"), cli.Plural(c.Objects, "object"), cli.Plural(c.Packs, "pack"))
	if c.Orphans > 0 {
		fmt.Fprintf(s.Stderr, " (%d of them not needed; svcadmin compact removes them after a day)", c.Orphans)
	}
	fmt.Fprintf(s.Stderr, ", %s\n", cli.Plural(len(c.Problems), "problem"))
	if len(c.Problems) == 0 {
		return nil
	}
	if mendable {
		fmt.Fprintln(s.Stderr, "svcadmin fsck --fix mends what git has all for")
	}
	return cli.ErrSaid
}

func newReindex(s *session) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Rebuild all rows and the snapshot from git alone",
		Long: `Rebuild all rows of a workspace's history, and the snapshot that readers begin with,
from git alone. Readers and writers go on meanwhile, and see the new rows from one
request to the next.

--head makes another commit the head, with its history: the way back to an
undamaged state, or to one before a mistake. Commits after it are no longer part of
the history.`,
		Example: `  svcadmin reindex
  svcadmin reindex --head 99aba39101a6730bb8a2e53326d45ae583299560`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
			at, err := w.Reindex(cmd.Context(), head, admin.Checking{Progress: s.progress})
			if err == nil {
				fmt.Fprintf(s.Stderr, "%s: the rows of %s are new; the head is %s\n", w.Name, cli.Plural(int(at.Sequence), "commit"), at.Commit)
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&head, "head", "", "commit to make the head, in full")
	s.ofWorkspace(cmd)
	return cmd
}

func newCompact(s *session) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Merge many small packs into few, and delete what nobody needs",
		Long: `Merge many small packs into few, so that histories stay quick to export and to
check, and delete what nobody has needed for a day: packs that were merged, what
interrupted writes have left. Readers and writers go on meanwhile. The maintenance
function does this by itself.`,
		Example: `  svcadmin compact
  svcadmin compact --all`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
			done, err := w.Compact(cmd.Context(), admin.Compacting{All: all, Progress: s.progress})
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Stderr, "%s: %s merged, %d left; deleted %s, %s and %s\n", w.Name,
				cli.Plural(done.Merged, "pack"), done.Left, cli.Plural(done.Removed, "pack"),
				cli.Plural(done.Snapshots, "snapshot"), cli.Plural(done.Rows, "row"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "merge all packs into one, large ones too")
	s.ofWorkspace(cmd)
	return cmd
}

func newMaintain(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "maintain",
		Short: "Do once what the maintenance function does on its schedule",
		Args:  cli.Arguments(""),
		RunE: s.with(func(cmd *cobra.Command, stores *admin.Stores, _ []string) error {
			all, err := stores.Maintain(cmd.Context(), slog.New(slog.NewTextHandler(s.Stderr, nil)))
			for _, done := range all {
				err = errors.Join(err, done.Err())
			}
			return errors.Join(cli.JSON(s.Stdout, map[string][]admin.MaintainedWorkspace{"workspaces": all}), err)
		}),
	}
}

func newUsage(s *session) *cobra.Command {
	var month string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Count documents, commits, bytes and the context keys of a month (MTK)",
		Long: `Count what a workspace stores, and how many distinct context keys its applications
reported in a month (MTK, by type of context).`,
		Example: `  svcadmin usage --month 2026-11`,
		Args:    cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
			asked := telemetry.MonthOf(s.Now())
			if month != "" {
				var err error
				if asked, err = telemetry.ParseMonth(month); err != nil {
					return cli.Usagef("--month: %v", err)
				}
			}
			u, err := w.Usage(cmd.Context(), asked)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(s.Stdout, u)
			}
			rows := cli.UsageRows(u.Usage)
			for _, row := range []struct {
				name  string
				value any
			}{{"documents", u.Documents}, {"schemas", u.Schemas}, {"commits", u.Commits}, {"live keys", u.LiveKeys}, {"packs", u.Packs}, {"objects in the bucket", u.Objects}, {"bytes of them", u.Bytes}} {
				rows = append(rows, []string{row.name, fmt.Sprint(row.value)})
			}
			return cli.Table(s.Stdout, rows)
		}),
	}
	cmd.Flags().StringVar(&month, "month", "", "month in UTC, such as 2026-11 (default this one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	s.ofWorkspace(cmd)
	return cmd
}

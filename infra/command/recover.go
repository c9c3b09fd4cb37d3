package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

func newTips(s *session) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "tips",
		Short: "List the commits in the bucket that could be the head",
		Long: `List the commits in the bucket that no other commit there follows, the newest first: the
head that the table names, commits that came after it where the table was put back to an
earlier time. The one of them that is to be the head is made it by svcadmin reindex
--head; one that lacks something cannot be.

Commits that lost a race are not shown without --all: another one followed the same commit
within a minute, and was the head. Of two that nothing follows, and that no table tells
apart, both are shown: nobody was told that the one which lost was written.

Packs that the table does not name stay for a day from now, so that maintenance does not
delete what one of these commits needs. All packs are copied for this, into the folder of
TMPDIR.`,
		Example: `  svcadmin tips
  svcadmin tips --all`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, _ []string) error {
			tips, err := w.Tips(cmd.Context(), admin.Checking{Progress: s.progress})
			if err != nil {
				return err
			}
			return s.printTips(tips, all)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "show those that lost a race too, at most a hundred in all")
	s.ofWorkspace(cmd)
	return cmd
}

func (s *session) printTips(tips []admin.Tip, all bool) error {
	rivals := 0
	rows := [][]string{{"COMMITTED", "COMMIT", "COMMITS", "AUTHOR", "STATE", "MESSAGE"}}
	for _, t := range tips {
		if t.Rival {
			if rivals++; !all {
				continue
			}
		}
		state := "whole"
		switch {
		case t.Lacks != "":
			state = "lacks objects"
		case t.Head:
			state = "the head"
		case t.Rival:
			state = "lost a race"
		}
		subject := []rune(t.Subject)
		rows = append(rows, []string{t.At.UTC().Format(time.RFC3339), t.SHA, fmt.Sprint(t.Commits), terminal.Printable(t.Author), state,
			terminal.Printable(string(subject[:min(len(subject), 60)]))})
	}
	if rivals > 0 && !all {
		fmt.Fprintf(s.Stderr, "%d commits that lost a race are not shown; svcadmin tips --all shows them\n", rivals)
	}
	return cli.Table(s.Stdout, rows)
}

func newWorkspaceRecover(s *session) *cobra.Command {
	var id, head string
	cmd := &cobra.Command{
		Use:   "recover <name>",
		Short: "Make a workspace of what the bucket has, where the table is lost",
		Long: `Make a workspace of its git objects in the bucket, where the table is lost and there is no
backup of it. Its history and its documents are what they were. Keys, roles, the audit
trail and telemetry were in the table and are lost: nobody's key works any more, and
svcadmin key create makes new ones.

Standard output is the workspace's id.`,
		Example: `  svcadmin workspace recover acme`,
		Args:    cli.Arguments(""),
		RunE: s.with(func(cmd *cobra.Command, stores *admin.Stores, args []string) error {
			return s.recover(cmd, stores, args[0], id, head)
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "id of the workspace in the bucket (default the only one that the table lacks)")
	cmd.Flags().StringVar(&head, "head", "", "commit to make the head, in full (default the only one that could be)")
	return cmd
}

func (s *session) recover(cmd *cobra.Command, stores *admin.Stores, name, id, head string) error {
	lost, err := stores.Orphaned(cmd.Context())
	if err != nil {
		return err
	}
	switch {
	case id != "":
		if _, err := access.ParseID(id); err != nil {
			return cli.Usagef("--id: %v", err)
		}
	case len(lost) == 0:
		return errors.New("the bucket has no workspace that the table lacks")
	case len(lost) > 1:
		return fmt.Errorf("the bucket has several workspaces that the table lacks; name one with --id: %v", lost)
	default:
		id = string(lost[0])
	}
	if err := s.refuseTwin(cmd.Context(), stores, name); err != nil {
		return err
	}
	w, tips, err := stores.Recover(cmd.Context(), admin.Recovery{ID: access.ID(id), Name: name, Commit: head, Checking: admin.Checking{Progress: s.progress}})
	if errors.Is(err, admin.ErrTips) {
		err = errors.Join(s.printTips(tips, false), err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "recovered the workspace %s (%s); it has no keys yet\n", w.Name, w.ID)
	fmt.Fprintln(s.Stdout, w.ID)
	return nil
}

package command

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/terminal"
)

func newBackup(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup <file>",
		Short: "Write everything of a workspace into one archive",
		Long: `Write everything of a workspace into one archive: git's history, keys and roles, the
audit trail, what telemetry has saved and counted. The service goes on meanwhile; the
archive holds whatever anybody was told of before it began.

It is the archive that svc backup writes, so that svc restore makes a data directory of
it, without telemetry. The file, for its owner's eyes alone, has its name when it is
whole, and takes the place of an earlier one. "-" is standard output. A copy of the packs
lies in the file's folder meanwhile, with "-" in that of TMPDIR.

The whole table is read for the telemetry: a gigabyte of it costs some 0.03 dollars.`,
		Example: `  svcadmin backup acme.tar
  svcadmin backup - --workspace acme | aws s3 cp - s3://backups/acme.tar --region eu-west-1`,
		Args: cli.Arguments(""),
		RunE: s.on(func(cmd *cobra.Command, w *admin.Workspace, args []string) error {
			return s.Backup(args[0], func(to io.Writer, beside string) (backup.Header, error) {
				return w.Backup(cmd.Context(), to, beside, s.progress)
			})
		}),
	}
	s.ofWorkspace(cmd)
	return cmd
}

func newRestore(s *session) *cobra.Command {
	var name string
	var git bool
	cmd := &cobra.Command{
		Use:   "restore <file>",
		Short: "Make a workspace of a backup",
		Long: `Make a workspace of an archive that svcadmin backup or, without its telemetry, svc
backup has written, in a table that has none of its id: in another account or region too.
The id stays, since every key names it. Keys are what they were then: one that was made
since is unknown, and one that was revoked since works again.

The archive is checked before anything is written, and what was written is read back and
compared. Until the last step every request is answered with 503. A restore that was
interrupted is repeated as it was. It takes as much space in the folder of TMPDIR as the
archive has.

--git puts back only git's packs, where the bucket was lost and the table was not. The
head stays, or is the archive's commit if git lacks what it needs. Close the workspace
before: svcadmin workspace provisioning on.`,
		Example: `  svcadmin restore acme.tar
  AWS_REGION=eu-west-1 svcadmin restore acme.tar --table svc-Table-2XYZ --bucket svc-bucket-9abc`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if git && name != "" {
				return cli.Usagef("--git leaves the workspace its name")
			}
			stores, err := s.stores(cmd.Context())
			if err != nil {
				return err
			}
			return s.ReadArchive(args[0], func(from io.Reader) error {
				o := admin.Restoration{Name: name, Progress: s.progress}
				if git {
					r, at, err := stores.RestoreGit(cmd.Context(), from, o)
					if err != nil {
						return err
					}
					fmt.Fprintf(s.Stderr, "put back the packs of %s as of %s; the head is %s\n", terminal.Escape(r.Workspace.Name), r.At.Format(time.RFC3339), cmp.Or(at.Commit, "no commit"))
					return s.verdict(r.Workspace, r.Checked, nil)
				}
				r, err := stores.Restore(cmd.Context(), from, o)
				if err != nil {
					return err
				}
				r.Restored.Name = r.Workspace.Name
				s.SayRestored(r.Restored, "", cli.Plural(r.Commits, "commit")+", ")
				for _, name := range r.References {
					fmt.Fprintf(s.Stderr, "left out %s: a hosted workspace has one branch\n", terminal.Escape(name))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the workspace is called from now on (default as it was)")
	cmd.Flags().BoolVar(&git, "git", false, "put back git's packs alone, for a table that is there")
	return cmd
}

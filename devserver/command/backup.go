package command

import (
	"io"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/cli"
)

func newBackup(in Invocation) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "backup <file>",
		Short: "Write everything in a data directory into one archive",
		Long: `Write everything in a data directory into one archive: git's history, keys and roles,
the audit trail, what telemetry has saved and counted. It works while svc api serves
the directory, and holds whatever anybody was told of before it began.

The file, a tar file for its owner's eyes alone, has its name when it is whole, and
takes the place of an earlier one. "-" is standard output. It is not compressed, as
git's packs are. It holds what cursors are signed with, and who uses what: keep it as
you would the data directory.

Not in it are the settings and hooks of the git repository, and first.key.`,
		Example: `  svc backup backup.tar
  svc backup - | ssh backup.example.com 'cat > svc.tar'`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.noWorkspace(in.Backup(args[0], func(to io.Writer, beside string) (backup.Header, error) {
				return backup.Write(cmd.Context(), in.Absolute(data), to, beside)
			}), data)
		},
	}
	dataFlag(cmd, &data)
	return cmd
}

func newRestore(in Invocation) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "restore <file>",
		Short: "Restore a data directory from a backup",
		Long: `Restore a data directory from an archive that svc backup or svcadmin backup wrote.
The directory must be new or empty, and appears under its name only once everything
is there and matches its checksum. Keys are what they were then: one that was made since is
unknown, and one that was revoked since works again.

"-" is standard input.`,
		Example: `  svc restore backup.tar --data restored
  svc api --data restored`,
		Args: cli.Arguments(""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("data") {
				return cli.Usagef("name the new directory with --data")
			}
			return in.ReadArchive(args[0], func(from io.Reader) error {
				r, err := backup.Restore(cmd.Context(), from, in.Absolute(data))
				if err == nil {
					in.SayRestored(r, " into "+data+",", "")
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "data directory to make")
	return cmd
}

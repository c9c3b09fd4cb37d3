package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/backup"
	"svc.example/svc/shared/terminal"
)

// standard stands for standard output or input where a file is asked for.
const standard = "-"

// Backup has write make the archive of a path, which has its name when it is whole,
// or standard output, and says what it is of. Beside is a folder for what write wants to
// put aside.
func (c *Caller) Backup(path string, write func(to io.Writer, beside string) (backup.Header, error)) error {
	var h backup.Header
	fill := func(to io.Writer, beside string) (err error) {
		h, err = write(to, beside)
		return err
	}
	var err error
	if path != standard {
		err = atomicfile.Fill(c.Absolute(path), fill)
	} else if stdout, _ := c.Stdout.(*terminal.Writer); Terminal(stdout) {
		return Usagef("an archive is nothing to be read on a terminal: name a file, or a program that takes it: backup - | zstd > backup.tar.zst")
	} else {
		err = fill(stdout.Unwrap(), os.TempDir())
	}
	if err == nil {
		fmt.Fprintf(c.Stderr, "backed up %s (%s) at %s\n", terminal.Escape(h.Name), h.Workspace, cmp.Or(h.Commit, "no commit"))
	}
	return err
}

// ReadArchive has work read the file of a path, or standard input.
func (c *Caller) ReadArchive(path string, work func(from io.Reader) error) error {
	if path == standard {
		return work(c.Stdin)
	}
	f, err := os.Open(c.Absolute(path))
	if err != nil {
		return err
	}
	defer f.Close()
	return work(f)
}

// SayRestored says what was made of an archive, and where; more is what else is there.
func (c *Caller) SayRestored(r backup.Restored, where, more string) {
	telemetry := "telemetry"
	if !r.Telemetry {
		telemetry = "no telemetry"
	}
	fmt.Fprintf(c.Stderr, "restored %s (%s) as of %s%s at %s: %s%s of %s, %s of the audit trail, %s\n",
		terminal.Escape(r.Name), r.Header.Workspace, r.At.Format(time.RFC3339), where, cmp.Or(r.Commit, "no commit"), more,
		Plural(r.Keys, "key"), Plural(r.Principals, "principal"), Plural(r.Entries, "line"), telemetry)
}

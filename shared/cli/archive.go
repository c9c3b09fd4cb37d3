package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/terminal"
)

// standard stands for standard output or input where a file is asked for.
const standard = "-"

// ArchivePath is the path of an archive; "-" stands for itself.
func ArchivePath(path string, absolute func(string) string) string {
	if path == standard {
		return path
	}
	return absolute(path)
}

// WriteArchive has write make the file of a path, which has its name when it is whole,
// or standard output. Beside is a folder for what write wants to put aside.
func WriteArchive(stdout io.Writer, path string, write func(to io.Writer, beside string) error) error {
	if path != standard {
		return atomicfile.Fill(path, write)
	}
	if Terminal(stdout) {
		return Usagef("an archive is nothing to be read on a terminal: name a file, or a program that takes it: backup - | zstd > backup.tar.zst")
	}
	if escaping, ok := stdout.(*terminal.Writer); ok {
		stdout = escaping.Unwrap()
	}
	return write(stdout, os.TempDir())
}

// ReadArchive has work read the file of a path, or standard input.
func ReadArchive(cmd *cobra.Command, path string, work func(from io.Reader) error) error {
	if path == standard {
		return work(cmd.InOrStdin())
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return work(f)
}

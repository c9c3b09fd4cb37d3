package cli

import (
	"io"
	"os"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/terminal"
)

// standard stands for standard output or input where a file is asked for.
const standard = "-"

// WriteArchive has write make the file of a path, which has its name when it is whole,
// or standard output. Beside is a folder for what write wants to put aside.
func (c *Caller) WriteArchive(path string, write func(to io.Writer, beside string) error) error {
	if path != standard {
		return atomicfile.Fill(c.Absolute(path), write)
	}
	stdout := c.Stdout
	if Terminal(stdout) {
		return Usagef("an archive is nothing to be read on a terminal: name a file, or a program that takes it: backup - | zstd > backup.tar.zst")
	}
	if escaping, ok := stdout.(*terminal.Writer); ok {
		stdout = escaping.Unwrap()
	}
	return write(stdout, os.TempDir())
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

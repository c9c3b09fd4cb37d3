// Package regularfile keeps to files in folders that others may have made: a pipe in the
// place of one is not waited for, and a link is not written through.
package regularfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"svc.example/svc/shared/terminal"
)

// Open opens a file to read it, and no pipe, socket or device. A link is followed.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0 {
		return nil, errors.Join(cmp.Or(err, error(&fs.PathError{Op: "open", Path: path, Err: errNoFile})), f.Close())
	}
	return f, nil
}

var errNoFile = errors.New("it is no file")

// Read is the content of a file that Open opens.
func Read(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Check refuses to write into what is there and no file: a link, whose target may be
// anything of the user's, and a pipe, which is waited for.
func Check(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is no file but a link, a pipe or the like, and svc writes into it: look who has put it there, and remove it", terminal.Escape(path))
	}
	return nil
}

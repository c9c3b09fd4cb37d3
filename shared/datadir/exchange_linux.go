package datadir

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// exchange has two files of one folder change places.
func exchange(root *os.Root, a, b string) error {
	folder, err := root.Open(filepath.Dir(a))
	if err != nil {
		return err
	}
	defer folder.Close()
	fd := int(folder.Fd())
	err = unix.Renameat2(fd, filepath.Base(a), fd, filepath.Base(b), unix.RENAME_EXCHANGE)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTTY): // by the file system or the kernel
		return errors.ErrUnsupported
	case errors.Is(err, unix.ENOENT):
		return ErrChanged
	case err != nil:
		return &os.PathError{Op: "exchange", Path: b, Err: err}
	}
	return nil
}

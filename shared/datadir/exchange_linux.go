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

// openForWriting reports whether somebody has a file open to write to it. The system grants a
// lease for reading only where nobody has; it is given back at once.
func openForWriting(root *os.Root, name string) (bool, error) {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil // nothing to write to
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return false, err
}

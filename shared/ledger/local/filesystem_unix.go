//go:build !windows

package local

import (
	"errors"
	"io"
	"os"
	"syscall"
)

func flushDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// canWrite says why no file can be made in a directory. A file system may be
// mounted read-only, which binds root too.
func canWrite(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}

// tryLock takes the lock on an open file, or returns errHeld. The system lets
// it go when the file is closed, also when the process is killed.
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		default:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

// hold returns what has to be closed once a file's identity need no longer be
// reserved: while it is open, no other file gets its inode number.
func hold(f *os.File) io.Closer { return f }

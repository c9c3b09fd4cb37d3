//go:build !windows

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Try takes the lock on an open file, or returns ErrHeld. The system lets
// it go when the file is closed, also when the process is killed.
func Try(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		default:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}

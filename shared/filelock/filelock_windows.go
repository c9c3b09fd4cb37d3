package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies far behind any content, because what is locked cannot be
// read by others, and who holds a lock is written in it.
const lockedByte = 1 << 30

// Try takes the lock on an open file, or returns ErrHeld. The system lets
// it go when the file is closed, also when the process is killed.
func Try(f *os.File) error {
	const mode = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), mode, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrHeld
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

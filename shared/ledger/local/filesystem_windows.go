package local

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// flushDirectory does nothing: Windows has no such call, and NTFS keeps its
// names in a journal.
func flushDirectory(string) error { return nil }

// canWrite does not know: what somebody may do there only shows when it is done.
func canWrite(string) error { return nil }

// lockedByte lies far behind any content, because what is locked cannot be
// read by others, and who holds a lock is written in it.
const lockedByte = 1 << 30

// tryLock takes the lock on an open file, or returns errHeld. The system lets
// it go when the file is closed, also when the process is killed.
func tryLock(f *os.File) error {
	const mode = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), mode, 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return errHeld
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// hold keeps nothing open: an open file cannot be replaced on Windows, and
// there a file's identity counts how often it was given out.
func hold(f *os.File) io.Closer {
	f.Close()
	return io.NopCloser(nil)
}

package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"svc.example/svc/shared/filelock"
)

// Unfinished makes a directory beside a place, for what is to be moved there when it is
// whole. Discard removes it, unless it was moved. What others that were killed have left
// beside that place is removed, where the system locks directories.
func Unfinished(dir string) (path string, discard func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", nil, err
	}
	sweepUnfinished(dir)
	for {
		if path, err = os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+unfinishedMark); err != nil {
			return "", nil, err
		}
		lock, err := lockUnfinished(path)
		if _, gone := os.Lstat(path); gone == nil && !errors.Is(err, filelock.ErrHeld) {
			return path, func() { os.RemoveAll(path); lock.Close() }, nil
		}
		lock.Close() // somebody who sweeps was faster
	}
}

const unfinishedMark = ".unfinished-"

// lockUnfinished says that a directory is being filled, for as long as the lock is open.
func lockUnfinished(path string) (lock io.Closer, err error) {
	if runtime.GOOS == "windows" { // where an open directory cannot be moved
		return io.NopCloser(nil), errors.ErrUnsupported
	}
	f, err := os.Open(path)
	if err != nil {
		return io.NopCloser(nil), err
	}
	return f, filelock.Try(f)
}

func sweepUnfinished(dir string) {
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		drawn, is := strings.CutPrefix(e.Name(), filepath.Base(dir)+unfinishedMark)
		if !is || !e.IsDir() || drawn == "" || strings.Trim(drawn, "0123456789") != "" {
			continue
		}
		path := filepath.Join(filepath.Dir(dir), e.Name())
		lock, err := lockUnfinished(path)
		if err == nil {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
}

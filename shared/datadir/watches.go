package datadir

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// watches holds the watches on the places of one survey. It is never changed:
// another survey gets others.
type watches struct {
	survey  survey
	watcher *fsnotify.Watcher
}

// addFunc puts a watch on a directory.
type addFunc func(watcher *fsnotify.Watcher, path string) error

// addWatches puts a watch on every place of a survey. Whole is false when a place
// was no longer as surveyed. The error means that this system has no (more)
// watches to give.
func addWatches(s survey, add addFunc) (l *watches, whole bool, err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, false, err
	}
	whole = true
	for at, place := range s {
		if !place.near && !ancestorsWatched {
			continue
		}
		err := add(watcher, at)
		switch {
		case err == nil, errors.Is(err, fs.ErrPermission):
			// One that may not be watched is left to the recheck.
		case vanished(at, err):
			whole = false
		default:
			watcher.Close()
			return nil, false, err
		}
	}
	return &watches{s, watcher}, whole, nil
}

// ancestorsWatched reports whether a watch on a directory is cheap, whatever is
// in it.
const ancestorsWatched = runtime.GOOS == "linux"

// vanished reports whether a watch failed because of the directory rather than
// for want of watches.
func vanished(at string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	info, err := os.Lstat(at)
	return err != nil || !info.IsDir()
}

// exhausted reports whether an error that a watcher reports later means that it
// will miss changes from now on.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM)
}

// channels are where watches report; without one, nothing ever comes.
func (l *watches) channels() (<-chan fsnotify.Event, <-chan error) {
	if l == nil {
		return nil, nil
	}
	return l.watcher.Events, l.watcher.Errors
}

func (l *watches) close() {
	if l != nil {
		l.watcher.Close()
	}
}

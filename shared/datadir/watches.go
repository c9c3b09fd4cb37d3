package datadir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"svc.example/svc/shared/workspace"
)

// places are the directories that are watched, by path, as they were found: a datadir and
// the folders of its layout.
type places map[string]fs.FileInfo

func placesOf(dir string) places {
	found := places{}
	for _, folder := range append([]workspace.Folder{""}, workspace.Folders...) {
		at := filepath.Join(dir, string(folder))
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			found[at] = info
		}
	}
	return found
}

// same reports whether the same directories were found. One that was replaced is
// another one, and so is one that may now be watched because its permissions changed.
func (p places) same(other places) bool {
	return maps.EqualFunc(p, other, func(a, b fs.FileInfo) bool { return a.Mode() == b.Mode() && os.SameFile(a, b) })
}

// watches holds the watches on some places. It is never changed: other places get others.
type watches struct {
	places
	*fsnotify.Watcher
}

// addFunc puts a watch on a directory.
type addFunc func(watcher *fsnotify.Watcher, path string) error

// addWatches puts a watch on every place. Whole is false when one was gone by then. The
// error means that this system has no (more) watches to give.
func addWatches(p places, add addFunc) (l *watches, whole bool, err error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, false, err
	}
	whole = true
	for at := range p {
		err := add(watcher, at)
		if err == nil || errors.Is(err, fs.ErrPermission) {
			continue // one that may not be watched is left to the recheck
		}
		if info, gone := os.Stat(at); gone == nil && info.IsDir() {
			watcher.Close()
			return nil, false, err
		}
		whole = false
	}
	return &watches{p, watcher}, whole, nil
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
	return l.Events, l.Errors
}

func (l *watches) close() {
	if l != nil {
		l.Close()
	}
}

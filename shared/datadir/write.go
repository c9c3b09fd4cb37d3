package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/atomicfile"
)

// Edit is what becomes of a file of the layout.
type Edit struct {
	Path string // in the layout, with forward slashes
	// Was is the content that is replaced; nil where there is to be no file.
	Was []byte
	// Content is what the file is to have; nil to remove it.
	Content []byte
}

// ErrChanged is the error of Write where a file is another than the one that was to
// be replaced.
var ErrChanged = errors.New("the file has changed meanwhile")

// Write edits files of a datadir: all of them or, where one is another than it was or
// cannot be written, none. A file is replaced as a whole, by way of one beside it
// whose name begins with a dot, right after it was found to be as it was; it keeps
// its permissions. A symbolic link within the directory is followed, never one that
// leads out; to remove it leaves what it leads to. It is for who holds the Lock.
func Write(dir string, edits []Edit) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	all := make([]*writing, 0, len(edits))
	defer func() {
		for _, w := range all {
			if w.next != "" { // it has not got its name
				_ = root.Remove(w.next)
			}
		}
	}()
	for _, e := range edits {
		w := &writing{Edit: e, in: inside{dir, root}}
		all = append(all, w)
		if err := w.prepare(); err != nil {
			return err
		}
	}
	for i, w := range all {
		if err := w.finish(); err != nil {
			for _, done := range all[:i] {
				if undone := Write(dir, []Edit{{done.Path, done.Content, done.Was}}); undone != nil {
					return fmt.Errorf("%s is written, and others are not: %w", done.Path, errors.Join(err, undone))
				}
			}
			return err
		}
	}
	return nil
}

// writing is an edit under way.
type writing struct {
	Edit
	in   inside
	at   string // where the file lies in the directory
	next string // the file beside it that takes its place; "" for none
}

// prepare finds the file, and writes the one beside it.
func (w *writing) prepare() error {
	w.at = filepath.FromSlash(w.Path)
	full := filepath.Join(w.in.dir, w.at)
	if end, ok := w.in.resolve(full); ok {
		w.at = end
	} else if folder, ok := w.in.resolve(filepath.Dir(full)); ok {
		w.at = filepath.Join(folder, filepath.Base(full))
	}
	if err := w.check(); err != nil || w.Content == nil {
		return err
	}
	if err := w.in.root.MkdirAll(filepath.Dir(w.at), 0o777); err != nil {
		return err
	}
	var mode fs.FileMode
	if info, err := w.in.root.Stat(w.at); err == nil {
		mode = info.Mode().Perm()
	}
	var err error
	w.next, err = atomicfile.Beside(w.in.root, w.at, w.Content, mode)
	return err
}

// check says whether the file is as it was.
func (w *writing) check() error {
	info, err := w.in.root.Lstat(w.at)
	switch {
	case errors.Is(err, fs.ErrNotExist) && w.Was == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return ErrChanged
	case err != nil:
		return err
	case w.Was == nil || !info.Mode().IsRegular():
		return ErrChanged
	}
	text, err := content(w.in.root, w.at)
	if err == nil && !bytes.Equal(text, w.Was) {
		err = ErrChanged
	}
	return err
}

// finish puts the new file in the place of the old one.
func (w *writing) finish() error {
	if err := w.check(); err != nil {
		return err
	}
	switch {
	case w.Content == nil:
		return w.in.root.Remove(filepath.FromSlash(w.Path)) // of a link the link, and not what others may name too
	case w.Was == nil:
		// Of two that make the file, one must lose.
		err := w.in.root.Link(w.next, w.at)
		if errors.Is(err, fs.ErrExist) {
			return ErrChanged
		}
		if err == nil {
			return nil // the other name is removed
		}
	}
	err := w.in.root.Rename(w.next, w.at)
	if err == nil {
		w.next = ""
	}
	return err
}

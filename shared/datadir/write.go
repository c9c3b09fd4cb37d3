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
// its permissions, and its owner where the process may give it to them; one that nobody
// may write is not replaced. A symbolic link within the directory is followed, never one that
// leads out; to remove it leaves what it leads to. It is for who holds the Lock.
//
// An editor holds no lock. A file that it puts in the place of the old one at the last
// moment is kept, and is ErrChanged, where two files can be exchanged: on Linux, by most
// file systems; for some microseconds who reads then finds ours. Elsewhere, and where it writes into the old file as it lies there, what
// it does between the last look and the replacement, some microseconds, is lost.
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
	if err := w.check(); err != nil {
		return err
	}
	was, err := w.in.root.Stat(w.at)
	if link := w.at != filepath.FromSlash(w.Path); err == nil && was.Mode().Perm()&0o222 == 0 && !(link && w.Content == nil) {
		return &fs.PathError{Op: "write", Path: w.at, Err: fs.ErrPermission} // which a rename would not ask for
	}
	if w.Content == nil {
		return nil
	}
	if err := w.in.root.MkdirAll(filepath.Dir(w.at), 0o777); err != nil {
		return err
	}
	if err != nil { // there is none
		w.next, err = atomicfile.Beside(w.in.root, w.at, w.Content, 0)
		return err
	}
	if w.next, err = atomicfile.Beside(w.in.root, w.at, w.Content, was.Mode().Perm()); err == nil {
		atomicfile.GiveToOwner(w.in.root, w.next, was)
	}
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
	return w.replace()
}

// replace is finish for a file that was found to be as it was a moment ago. Somebody
// may have put another in its place since, who holds no lock: an editor.
func (w *writing) replace() error {
	switch {
	case w.Content == nil && w.at != filepath.FromSlash(w.Path):
		return w.in.root.Remove(filepath.FromSlash(w.Path)) // of a link the link, and not what others may name too
	case w.Content == nil:
		return w.takeAway()
	case w.Was == nil:
		// Of two that make the file, one must lose.
		err := w.in.root.Link(w.next, w.at)
		if errors.Is(err, fs.ErrExist) {
			return ErrChanged
		}
		if err == nil {
			return nil // the other name is removed
		}
	default:
		if err := w.exchange(); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	err := w.in.root.Rename(w.next, w.at)
	if err == nil {
		w.next = ""
	}
	return err
}

// takeAway removes the file by way of another name, under which it is looked at once
// more, and gets its own back where it is another by now.
func (w *writing) takeAway() error {
	w.next = atomicfile.NameBeside(w.at)
	if err := w.in.root.Rename(w.at, w.next); err != nil {
		w.next = ""
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrChanged
		}
		return err
	}
	if text, err := w.aside(); err == nil && bytes.Equal(text, w.Was) {
		return nil // the other name is removed
	}
	err := w.in.root.Link(w.next, w.at)
	if err != nil && !errors.Is(err, fs.ErrExist) { // else somebody has put a later one there
		if err = w.in.root.Rename(w.next, w.at); err == nil {
			w.next = ""
		}
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return ErrChanged
}

// maxExchanges is how often somebody may be found to have written once more.
const maxExchanges = 100

// exchange has the old and the new file change places, and looks at what has come out.
// Where that is not what was to be replaced it gets its place back.
func (w *writing) exchange() error {
	in, out := w.Content, w.Was
	for n := range maxExchanges {
		if err := exchange(w.in.root, w.next, w.at); err != nil {
			return err
		}
		text, err := w.aside()
		if err == nil && bytes.Equal(text, out) {
			if n == 0 {
				err = w.in.root.Remove(w.next)
				w.next = ""
				return err
			}
			return ErrChanged
		}
		in, out = text, in // what came out last is the latest, and goes in
	}
	return ErrChanged
}

// aside is the content of the file that has the other name.
func (w *writing) aside() ([]byte, error) {
	if info, err := w.in.root.Lstat(w.next); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errNoFile)
	}
	return content(w.in.root, w.next)
}

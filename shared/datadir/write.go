package datadir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/atomicfile"
)

// Edit is what becomes of a file of the directory.
type Edit struct {
	Path string // from the directory, with forward slashes
	// Was is the content that is replaced; nil where there is to be no file.
	Was []byte
	// Content is what the file is to have; nil to remove it.
	Content []byte
	// Force replaces whatever is there, a symbolic link too and not what it leads to.
	Force bool
}

// ErrChanged is the error of Write where a file is another than the one that was to
// be replaced.
var ErrChanged = errors.New("the file has changed meanwhile")

// maxPreparing is how many files are on their way to the disk at a time: it takes its
// time for each, whatever the processors do.
const maxPreparing = 16

// Write edits files of a datadir: all of them or, where one is another than it was or
// cannot be written, none. So it is too where the process is killed: what several edits
// have done until then is taken back by the next Lock. A file is replaced as
// a whole, by way of one beside it whose name begins with a dot, right after it was found
// to be as it was; it keeps its permissions, and its owner where the process may give it
// to them; one that nobody may write is not replaced. A symbolic link within the directory
// is followed, never one that leads out; to remove it leaves what it leads to. It is for
// who holds the Lock. An error that is about a file is an fs.PathError with the path of
// its edit.
//
// An editor holds no lock. A file that it puts in the place of the old one at the last
// moment is kept, and is ErrChanged, where two files can be exchanged: on Linux, by most
// file systems; for some microseconds who reads then finds ours. Elsewhere what it does
// between the last look and the replacement, some microseconds, is lost. What it writes
// into the old file as it lies there is kept the same way: see settle.
func Write(ctx context.Context, dir string, edits []Edit) error {
	return write(ctx, dir, edits, func() {})
}

// write is Write, and calls step after whatever it has done to the disk.
func write(ctx context.Context, dir string, edits []Edit, step func()) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	in := inside{dir, root}
	all, waits := make([]*writing, len(edits)), maxWaits
	var preparing errgroup.Group
	preparing.SetLimit(maxPreparing)
	for i, e := range edits {
		all[i] = &writing{Edit: e, in: in, step: step, waits: &waits}
		preparing.Go(func() error { return all[i].about(all[i].prepare(ctx)) })
	}
	mark := ""
	if err = preparing.Wait(); err == nil && len(all) > 1 { // one edit is done or not
		mark, err = begin(in, all, step)
	}
	for _, w := range all {
		if err == nil {
			if err = w.check(); err == nil {
				err = w.replace()
			}
			err = w.about(err)
		}
	}
	if len(all) > 1 {
		if err == nil && forget(in.dir) == nil {
			step()
		} else if failed := restore(in, step); failed != nil { // what is not done is taken back
			return errors.Join(err, failed) // and what lies beside the files is needed
		}
	}
	for _, w := range all { // what has no place in the directory
		_ = root.Remove(w.Next)
		_ = root.Remove(w.Kept)
		step()
	}
	_ = root.Remove(mark)
	step()
	return err
}

var errFolder = errors.New("a folder is in its place: move it away")

// ErrOutside is the error of Write where a folder is a link out of the directory.
var ErrOutside = errors.New("its folder is a symbolic link that leads out of the directory, or nowhere; put a folder in its place")

// ErrGit is the error of Write where a link leads into git's own files.
var ErrGit = errors.New("it lies in a .git, which is git's own")

// writing is an edit under way.
type writing struct {
	Edit
	in   inside
	step func()
	// waits are those that settle has left.
	waits *int
	seen  string // where the file lies: elsewhere than at At where a link is removed
	was   string // the sum of what is replaced; "" for whatever is there
	record
}

// about is an error with the path of the edit.
func (w *writing) about(err error) error {
	err = atomicfile.Named(err, w.Path)
	if err != nil && !errors.As(err, new(*fs.PathError)) {
		err = &fs.PathError{Op: "write", Path: w.Path, Err: err}
	}
	return err
}

// prepare finds the file, and writes the one beside it.
func (w *writing) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.At = filepath.FromSlash(w.Path)
	full := filepath.Join(w.in.dir, w.At)
	if folder, ok := w.in.resolve(filepath.Dir(full)); ok {
		w.At = filepath.Join(folder, filepath.Base(full))
	} else if info, err := w.in.root.Lstat(filepath.Dir(w.At)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return ErrOutside
	}
	w.seen = w.At
	if end, ok := w.in.resolve(full); ok && !w.Force {
		w.seen = end
	}
	if w.Content != nil {
		w.At, w.SHA256 = w.seen, sumOf(w.Content)
	}
	if !writable(w.At) {
		return ErrGit
	}
	if !w.Force {
		w.was = sumOf(w.Was)
	}
	if err := w.check(); err != nil {
		return err
	}
	was, err := w.in.root.Lstat(w.seen)
	w.Made = err != nil
	mode := fs.FileMode(0)
	switch {
	case err != nil: // there is none
	case was.IsDir():
		return errFolder
	case was.Mode().IsRegular():
		mode = was.Mode().Perm()
		if mode&0o222 == 0 && w.At == w.seen {
			return fs.ErrPermission // which a rename would not ask for
		}
	}
	if w.Kept = ownName(w.in.dir, w.At); w.Content == nil {
		return nil
	}
	if err := w.in.root.MkdirAll(filepath.Dir(w.At), 0o777); err != nil {
		return err
	}
	w.Next = ownName(w.in.dir, w.At)
	if err = atomicfile.WriteBeside(w.in.root, w.At, w.Next, w.Content, mode); err == nil && mode != 0 {
		atomicfile.GiveToOwner(w.in.root, w.Next, was)
	}
	w.step()
	return err
}

// check reports whether the file is as it was.
func (w *writing) check() error {
	if w.Force {
		return nil
	}
	_, err := w.in.root.Lstat(w.seen)
	switch gone := errors.Is(err, fs.ErrNotExist); {
	case gone && w.Was == nil:
		return nil
	case err != nil && !gone:
		return err
	case gone || w.Was == nil || w.in.sum(w.seen) != w.was:
		return ErrChanged
	}
	return nil
}

// replace puts the new file in the place of the old one, which was found to be as it was a
// moment ago. An editor, which holds no lock, may have put another in its place since.
func (w *writing) replace() error {
	switch {
	case w.SHA256 == "":
		return w.takeAway()
	case w.Made:
		return w.put(w.Next)
	}
	err := w.exchange()
	if errors.Is(err, errors.ErrUnsupported) {
		err = w.rename()
	}
	return err
}

// put gives a file beside its place, where nothing is. Of two that make one, one loses.
func (w *writing) put(name string) error {
	err := w.in.root.Link(name, w.At)
	if err != nil && !errors.Is(err, fs.ErrExist) { // the file system knows no links
		err = w.in.root.Rename(name, w.At)
	}
	w.step()
	if errors.Is(err, fs.ErrExist) {
		err = ErrChanged
	}
	return err
}

// takeAway removes the file by way of another name, under which it is looked at once
// more, and gets its own back where it is another by now. Of a link the link goes, and
// not what others may name too.
func (w *writing) takeAway() error {
	err := w.in.root.Rename(w.At, w.Kept)
	w.step()
	w.settle(w.Kept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if w.Force {
			return nil
		}
		return ErrChanged
	case err != nil || w.At != w.seen || w.in.is(w.Kept, w.was):
		return err
	}
	if err := w.put(w.Kept); err != nil { // unless somebody has put a later one there
		return err
	}
	return ErrChanged
}

// maxExchanges is how often somebody may be found to have written once more.
const maxExchanges = 100

// exchange has the old and the new file change places, and looks at what has come out.
// Where that is not what was to be replaced it gets its place back.
func (w *writing) exchange() error {
	in, out := w.SHA256, w.was
	for n := range maxExchanges {
		if err := exchange(w.in.root, w.Next, w.At); err != nil {
			return err
		}
		w.step()
		w.settle(w.Next)
		if w.in.is(w.Next, out) {
			if n == 0 {
				return nil
			}
			break
		}
		in, out = w.in.sum(w.Next), in // what came out last is the latest, and goes in
	}
	return ErrChanged
}

// rename is exchange where the system knows none: until the new file has its place, the
// old one has two names.
func (w *writing) rename() error {
	root, err := w.in.root, w.in.root.Link(w.At, w.Kept)
	if err != nil { // there is none, or the file system knows no links
		err = root.Rename(w.At, w.Kept)
	}
	w.step()
	if err == nil {
		err = root.Rename(w.Next, w.At)
		w.step()
	}
	w.settle(w.Kept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrChanged
	case err != nil || w.in.is(w.Kept, w.was):
		return err
	}
	if err := root.Rename(w.Kept, w.At); err != nil {
		return err
	}
	return ErrChanged
}

// settle waits until nobody who has opened a file in its old place is still writing into
// it: an editor that opens a file, empties it and writes it again may have opened the old
// one right before the new one took its place. Where the system cannot tell who writes, it
// waits for as long as that takes. All edits of a Write share the waits: one that keeps a
// file open for longer is not waited for.
func (w *writing) settle(name string) {
	for ; *w.waits > 0; *w.waits-- {
		written, err := openForWriting(w.in.root, name)
		if err == nil && !written {
			return
		}
		time.Sleep(settling)
		if err != nil {
			*w.waits--
			return
		}
	}
}

const (
	settling = 5 * time.Millisecond
	maxWaits = 40
)

// is reports whether a file has the content of that sum; "" is any.
func (in inside) is(name, sum string) bool { return sum == "" || in.sum(name) == sum }

// sum is that of the content of an ordinary file, else "".
func (in inside) sum(name string) string {
	if info, err := in.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := in.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sumOf(content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/statedir"
	"svc.example/svc/shared/workspace"
)

// journal tells which files are being written, while several are: from when all that they
// are to have lies beside them until each has it. Where it is found by who holds the lock,
// the one who wrote them was killed.
//
// It moves files, so it lies where nobody but the user of this machine writes, and never
// among the files, which others write too: see journalOf. It holds for the directory in
// which its mark lies, and for none that has taken its place.
type journal struct {
	Directory string // for people
	Mark      string // the name of a file of the directory that is there as long as the journal holds
	Files     []record
}

// record is a file of the journal. What was there lies beside it from the moment that it
// has lost its place; nothing of it is in the journal.
type record struct {
	At     string // where it lies in the directory
	Made   bool   // nothing was there
	SHA256 string // of what it gets; "" where it is removed
	Next   string // the name of what takes its place, and of what was there once they have changed places
	Kept   string // the name of what was there where they cannot
}

// ErrHalf is the error of Write and Lock where a change is done in part.
var ErrHalf = errors.New("a change of several files is done in part, and cannot be taken back")

// ErrNoJournal is the error of Write where a change of several files cannot be begun.
var ErrNoJournal = errors.New("several files are not written at once where it cannot be noted which, to take them back if svc is killed; set XDG_STATE_HOME to a folder that can be written")

// ErrFound is the error of Lock where a journal lies among the files.
var ErrFound = errors.New(workspace.OldJournal + " lies in the directory, which would say which files to move; an older svc that was killed has left it, or it came with the files. " +
	"Nothing is moved, and nothing written: see by git diff whether the files are as they should be, and remove it")

// journalOf is the path of a directory's journal.
func journalOf(dir string) (string, error) {
	state, err := statedir.Of(os.Getenv)
	return filepath.Join(state, "writing", statedir.Name(dir)+".json"), err
}

// begin writes the journal of edits that are prepared, and names its mark.
func begin(in inside, all []*writing, step func()) (mark string, err error) {
	j := journal{Directory: in.dir}
	for _, w := range all {
		j.Files = append(j.Files, w.record)
	}
	path, err := journalOf(in.dir)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrNoJournal, err)
	}
	j.Mark = ownName(in.dir, "mark")
	if err = atomicfile.WriteBeside(in.root, "mark", j.Mark, nil, 0); err != nil {
		return "", err
	}
	step()
	_ = atomicfile.SyncFolder(in.dir) // where folders can be flushed
	text, err := json.Marshal(j)
	if err == nil {
		err = atomicfile.ReplaceAt(path, text, 0o600)
	}
	if err != nil {
		return j.Mark, fmt.Errorf("%w: %w", ErrNoJournal, err)
	}
	step()
	_ = atomicfile.SyncFolder(filepath.Dir(path))
	return j.Mark, nil
}

var remove = os.Remove // but in a test

// forget removes the journal. One that cannot be removed has nothing to tell of.
func forget(dir string) error {
	path, err := journalOf(dir)
	if err == nil {
		err = remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return os.Truncate(path, 0)
	}
	return nil
}

// readJournal reads the journal of a directory; none where there is none that holds.
func readJournal(in inside) (j journal, err error) {
	path, err := journalOf(in.dir)
	if err != nil {
		return journal{}, nil // there is no place for any
	}
	text, err := regularfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return journal{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &j)
	}
	for _, r := range j.Files {
		if err == nil {
			err = r.check()
		}
	}
	if err != nil {
		return journal{}, fmt.Errorf("%w; mend that, or remove %s to leave the files as they are: %w", ErrHalf, path, err)
	}
	if _, drawn := atomicfile.Drawn(j.Mark); !drawn {
		return journal{}, nil
	}
	if _, err := in.root.Lstat(j.Mark); err != nil { // it was of a directory that lay here
		return journal{}, nil
	}
	return j, nil
}

// check refuses what no Write has noted.
func (r record) check() error {
	if !writable(r.At) {
		return fmt.Errorf("it names %q", r.At)
	}
	for _, name := range []string{r.Next, r.Kept} {
		if _, drawn := atomicfile.Drawn(filepath.Base(name)); name != "" && (filepath.Dir(name) != filepath.Dir(r.At) || !drawn) {
			return fmt.Errorf("it names %q for %q", name, r.At)
		}
	}
	return nil
}

// writable reports whether a path lies in the directory, and in nothing that is git's own.
func writable(path string) bool { return filepath.IsLocal(path) && !isGits(path) }

// isGits reports whether a path leads through a .git.
func isGits(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool {
		return strings.EqualFold(name, ".git")
	})
}

// restore takes back what the journal tells of, if there is one: but for a file that
// somebody has changed since. To do it twice is to do it once.
func restore(in inside, step func()) error {
	j, err := readJournal(in)
	if err != nil {
		return err
	}
	if j.Files == nil {
		_ = forget(in.dir) // which may have been that of a directory that lay here
		return nil
	}
	for _, r := range j.Files {
		if failed := r.takeBack(in, step); failed != nil {
			err = failed // and the others are taken back all the same
		}
	}
	if err == nil {
		err = forget(in.dir)
		step()
	}
	if err != nil {
		path, _ := journalOf(in.dir)
		err = fmt.Errorf("%w; mend that, or remove %s to leave the files as they are: %w", ErrHalf, path, err)
	}
	return err
}

func (r record) takeBack(in inside, step func()) error {
	waits := maxWaits
	w := &writing{in: in, step: step, waits: &waits, seen: r.At, was: r.SHA256, record: record{At: r.At, Next: r.Next, Kept: r.Kept}}
	if _, err := in.root.Lstat(r.Kept); err == nil {
		w.Next, w.Kept = r.Kept, r.Next
	}
	// What has come out is also an editor's, of the moment in which it ended.
	w.SHA256 = in.sum(w.Next)
	_, err := in.root.Lstat(r.At)
	switch {
	case r.SHA256 == "" && errors.Is(err, fs.ErrNotExist):
		err = w.put(w.Next)
	case r.SHA256 == "" || in.sum(r.At) != r.SHA256: // not yet, or it is another's by now
		return nil
	case r.Made:
		err = w.takeAway()
	case w.SHA256 == r.SHA256: // it waits for the place of one that is the same
		return nil
	default:
		if err = w.exchange(); errors.Is(err, errors.ErrUnsupported) {
			err = w.rename()
		}
	}
	if errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// Unfinished names the files of a change that one that was killed has done in part, for
// who begins to read: the next Lock takes it back. Who is still writing is waited for.
// Nothing is written.
func Unfinished(ctx context.Context, dir string) (files []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil // who reads says so
	}
	defer root.Close()
	in := inside{dir, root}
	if j, err := readJournal(in); err != nil || j.Files == nil {
		return nil, errors.Join(err, foundIn(root))
	}
	lock, err := hold(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	j, err := readJournal(in)
	for _, r := range j.Files {
		files = append(files, r.At)
	}
	return files, errors.Join(err, foundIn(root))
}

// foundIn is ErrFound where a journal lies in the directory.
func foundIn(root *os.Root) error {
	if _, err := root.Lstat(workspace.OldJournal); err != nil {
		return nil
	}
	return ErrFound
}

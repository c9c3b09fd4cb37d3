package datadir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/atomicfile"
)

// journalName is the file that tells which files are being written, while several are:
// from when all that they are to have lies beside them until each has it. Where it is
// found by who holds the lock, the one who wrote them was killed.
const journalName = ".svc-write.json"

// record is a file of the journal, which is a list of them. What was there lies beside it
// from the moment that it has lost its place; nothing of it is in the journal.
type record struct {
	At     string // where it lies in the directory
	Made   bool   // nothing was there
	SHA256 string // of what it gets; "" where it is removed
	Next   string // the name of what takes its place, and of what was there once they have changed places
	Kept   string // the name of what was there where they cannot
}

// ErrHalf is the error of Write and Lock where a change is done in part.
var ErrHalf = errors.New("a change of several files is done in part, and cannot be taken back; mend that, or remove " + journalName + " to leave them as they are")

// begin writes the journal of edits that are prepared.
func begin(in inside, all []*writing, step func()) error {
	var records []record
	for _, w := range all {
		records = append(records, w.record)
	}
	text, err := json.Marshal(records)
	if err == nil {
		err = atomicfile.Replace(in.root, journalName, text, 0)
	}
	step()
	_ = atomicfile.SyncFolder(in.dir) // where folders can be flushed
	return err
}

// end is the end of what a journal tells of. Unless that is done, it is taken back.
func end(in inside, done bool, step func()) error {
	if !done {
		_, err := restore(in, step)
		return err
	}
	err := in.root.Remove(journalName)
	step()
	return err
}

// restore takes back what the journal tells of, if there is one, and names the files: one
// that somebody has changed since stays. To do it twice is to do it once.
func restore(in inside, step func()) (files []string, err error) {
	text, err := contentUpTo(in.root, journalName, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var records []record
	if err == nil {
		err = json.Unmarshal(text, &records)
	}
	for _, r := range records {
		taken, failed := r.takeBack(in, step)
		if failed != nil {
			err = failed // and the others are taken back all the same
		}
		if taken {
			files = append(files, r.At)
		}
	}
	if err == nil {
		err = in.root.Remove(journalName)
		step()
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrHalf, err)
	}
	return files, err
}

// maxJournal is how long a journal may be: some hundred bytes for each of maxFiles.
const maxJournal = 64 << 20

func (r record) takeBack(in inside, step func()) (taken bool, err error) {
	w := &writing{in: in, step: step, seen: r.At, was: r.SHA256, record: record{At: r.At, Next: r.Next, Kept: r.Kept}}
	if _, err := in.root.Lstat(r.Kept); err == nil {
		w.Next, w.Kept = r.Kept, r.Next
	}
	// What has come out is also an editor's, of the moment in which it ended.
	w.SHA256 = in.sum(w.Next)
	_, err = in.root.Lstat(r.At)
	switch {
	case r.SHA256 == "" && errors.Is(err, fs.ErrNotExist):
		err = w.put(w.Next)
	case r.SHA256 == "" || in.sum(r.At) != r.SHA256: // not yet, or it is another's by now
		return false, nil
	case r.Made:
		err = w.takeAway()
	case w.SHA256 == r.SHA256: // it waits for the place of one that is the same
		return false, nil
	default:
		if err = w.exchange(); errors.Is(err, errors.ErrUnsupported) {
			err = w.rename()
		}
	}
	if errors.Is(err, ErrChanged) {
		return false, nil
	}
	return true, err
}

// Restore takes back what one that was killed while it wrote several files has done of
// that, and names these files. Lock does it too: this is for who begins to read. Where
// there is nothing to take back, nobody is waited for, and nothing is written.
func Restore(ctx context.Context, dir string) (files []string, err error) {
	if _, err := os.Lstat(filepath.Join(dir, journalName)); err != nil {
		return nil, nil
	}
	lock, files, err := take(ctx, dir)
	if err != nil {
		return nil, err
	}
	return files, lock.Close()
}

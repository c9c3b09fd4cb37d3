package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// unavailable is trouble with the repository that a person has to end. Nothing
// was written.
func unavailable(cause error, format string, args ...any) error {
	return &repository.Unavailable{Message: fmt.Sprintf(format, args...), Cause: errors.Join(repository.ErrFailed, cause)}
}

var errNoMain = unavailable(fs.ErrNotExist, "the repository has no branch main, so that nothing can be read or written; "+
	"git branch -m <name> main brings it back where it was renamed, git branch main <commit> where it was deleted")

// hasBegun says whether the repository has had a branch main before: there are
// other branches, or packs. A first commit that is being made has packs too,
// but they are kept until its branch is there.
func (r reference) hasBegun() (bool, error) {
	found := false
	err := filepath.WalkDir(r.path("refs/heads"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = found || err == nil && !entry.IsDir() && !strings.HasSuffix(path, ".lock")
		return err
	})
	if found || err != nil {
		return found, err
	}
	packed, err := r.files.read(r.path("packed-refs"), mostPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return bytes.Contains(packed, []byte(" refs/heads/")), nil
}

// hasPacks says whether there are packs other than those of a first commit that
// never came to be.
func (r reference) hasPacks() bool {
	packs, _ := filepath.Glob(r.path("objects/pack/pack-*.idx")) // the pattern is a good one
	for _, index := range packs {
		if _, err := os.Stat(strings.TrimSuffix(index, ".idx") + ".keep"); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// noBranch says what it means that there is no branch main: that nothing was
// committed yet (nil), or that it is gone.
func (l *Ledger) noBranch() error {
	if l.begun.Load() {
		return errNoMain
	}
	begun, err := l.branch.hasBegun()
	if err != nil || !begun {
		return err
	}
	// The first commit may have landed between the two looks.
	if commit, err := l.branch.read(); err != nil || commit != "" {
		return err
	}
	return errNoMain
}

// unfit is a commit that main was moved to and that cannot be used.
type unfit struct {
	commit string
	err    error
}

// refuse makes an error of what keeps a commit from being used, where that is
// the commit itself: it is not looked at again, and what was there before goes
// on being read.
func (l *Ledger) refuse(commit string, err error) error {
	why := "git fsck says what is wrong with it"
	large := (*object.TooLarge)(nil)
	if errors.As(err, &large) {
		why = large.Error()
	} else if !errors.Is(err, object.ErrMalformed) {
		return fmt.Errorf("reading the history of %s: %w", commit, err)
	}
	slog.Error("main was moved to a commit that cannot be read; what was there before is read on", "commit", commit, "cause", err)
	err = unavailable(err, "main was moved to the commit %s, which cannot be read: %s; nothing can be written until main is moved to another", commit, why)
	l.unfit.Store(&unfit{commit, err})
	return err
}

// isUnfit returns why a commit is known not to be usable.
func (l *Ledger) isUnfit(commit string) error {
	if u := l.unfit.Load(); u != nil && u.commit == commit {
		return u.err
	}
	return nil
}

// held is why the branch's lock could not be had: a file, and how long it has
// been there, by the file system's own time: next was written just now.
func (r reference) held() error {
	message := "git is writing to the branch main; the request can be repeated"
	lock, err := r.files.stat(r.path(branchLock))
	next, failed := r.files.stat(r.path(nextHead))
	if err == nil && failed == nil {
		if age := next.ModTime().Sub(lock.ModTime()); age > staleLock {
			message = fmt.Sprintf("the file %s in the repository has been there for %s, and nothing can be written beside it; if no git is at work there, it was left behind and has to be removed",
				branchLock, age.Round(time.Second))
		}
	}
	return &repository.Unavailable{Message: message, Cause: fmt.Errorf("%s stayed locked by git: %w", r.path(branch), repository.ErrBusy)}
}

// staleLock is longer than git holds a lock, unless one of its hooks dawdles.
const staleLock = time.Minute

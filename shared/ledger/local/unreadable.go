package local

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
)

// unavailable is an error of the repository that a person has to end. Nothing
// was written.
func unavailable(cause error, format string, args ...any) error {
	return &repository.Unavailable{Message: fmt.Sprintf(format, args...), Cause: errors.Join(repository.ErrFailed, cause)}
}

var errNoMain = unavailable(fs.ErrNotExist, "the repository has no branch main, so that nothing can be read or written; "+
	"git branch -m <name> main brings it back where it was renamed, git branch main <commit> where it was deleted")

// hasBegun reports whether the repository has had a branch main before: there are
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
	packed, err := r.packed()
	return slices.ContainsFunc(packed, func(p Reference) bool { return strings.HasPrefix(p.Name, "refs/heads/") }), err
}

// hasPacks reports whether there are packs other than those of a first commit that
// never came to be.
func (r reference) hasPacks() bool {
	packs, _ := fs.Glob(os.DirFS(r.path("objects/pack")), "pack-*.idx") // the pattern is a good one
	for _, index := range packs {
		keep, err := os.ReadFile(r.path("objects/pack/" + strings.TrimSuffix(index, ".idx") + ".keep"))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !disk.IsUncommitted(keep) {
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

// unreadable is what main names and cannot be used.
type unreadable struct {
	commit string // "" when main names none
	reason *repository.Unavailable
	until  time.Time // then a reader looks again: what is lost may be back
}

// retryAfter is how long a reader takes what cannot be read for unreadable, and retryShare
// bounds the share of the time that looking takes. A writer always looks.
const (
	retryAfter = time.Second
	retryShare = 10
)

// stillUnreadable is why a commit could not be used a moment ago; nil when that is not known.
func (l *Ledger) stillUnreadable(commit string) *unreadable {
	if u := l.unreadable.Load(); u != nil && u.commit == commit && time.Now().Before(u.until) {
		return u
	}
	return nil
}

// refuse makes an error of what keeps a commit from being used, where that is
// the commit itself: something in it is malformed, too large, of another kind,
// damaged or not there. What was there before goes on being read. That the disk fails is
// no such reason. It was looked for since begun.
func (l *Ledger) refuse(commit string, err error, begun time.Time) error {
	why, until := "git fsck says what is wrong with it", "main is moved to another"
	large, lost, unserved := (*object.TooLarge)(nil), (*object.Lost)(nil), (*unservable)(nil)
	switch {
	case errors.As(err, &unserved):
		why = unserved.why
	case errors.As(err, &large):
		why = large.Error()
	case errors.As(err, &lost):
		why, until = lost.Why(), until+" or that object is back"
	case !isForGood(err):
		return fmt.Errorf("reading the history of %s: %w", commit, err)
	}
	message := fmt.Sprintf("main was moved to the commit %s, which cannot be served: %s; nothing can be written until %s%s", commit, why, until, l.recoveryHint(""))
	now := time.Now()
	return l.markUnreadable(&unreadable{commit: commit, until: now.Add(max(retryAfter, retryShare*now.Sub(begun)))}, message, errors.Join(repository.ErrFailed, err))
}

// isForGood reports whether an error is the commit's own.
func isForGood(err error) bool {
	return errors.Is(err, object.ErrMalformed) || errors.As(err, new(*object.TooLarge)) || errors.As(err, new(*object.Lost)) || errors.As(err, new(*unservable))
}

// refuseBranch is refuse for a branch that names no commit at all. Any other
// error stays what it is, and so does that there is no branch.
func (l *Ledger) refuseBranch(err error) error {
	reason := (*repository.Unavailable)(nil)
	if !errors.As(err, &reason) {
		return err
	}
	return l.markUnreadable(&unreadable{}, reason.Message+"; nothing can be written until main names a commit"+l.recoveryHint("mv "+branch+" main.damaged; "), reason.Cause)
}

// recoveryHint is the command that makes main what it was, after what has to be done
// before.
func (l *Ledger) recoveryHint(first string) string {
	good := headOf(l.history.Load()).Commit
	if good == "" {
		return ""
	}
	return fmt.Sprintf(" (in the repository, %sgit update-ref %s %s goes back to the last one that could be read)", first, branch, good)
}

// markUnreadable remembers what cannot be used, and logs it once.
func (l *Ledger) markUnreadable(u *unreadable, message string, cause error) error {
	u.reason = &repository.Unavailable{Message: message, Cause: cause}
	if before := l.unreadable.Swap(u); before == nil || before.reason.Message != message {
		slog.Error("refs/heads/main is unreadable", "why", message, "cause", cause)
	}
	return u.reason
}

// held is why the branch's lock could not be had: a file, and how long it has
// been there, by the file system's own time: next was written just now.
func (r reference) held() error {
	message := "git is writing to the branch main; the request can be repeated"
	lock, err := r.files.stat(r.path(branchLock))
	next, failed := r.files.stat(r.path(nextHead))
	if err == nil && failed == nil {
		age := (next.ModTime().Sub(lock.ModTime()) + gitWait).Round(time.Second)
		message = fmt.Sprintf("git is writing to the branch main; the request can be repeated (the file %s in the repository has been there for %s; if no git is at work there, it was left behind and may be removed)", branchLock, age)
		if age > staleLock {
			message = fmt.Sprintf("the file %s in the repository has been there for %s, and nothing can be written beside it; if no git is at work there, it was left behind and may be removed", branchLock, age)
			slog.Warn("a lock of git's keeps all from writing", "file", r.path(branchLock), "age", age)
		}
	}
	return &repository.Unavailable{Message: message, Cause: fmt.Errorf("%s stayed locked by git: %w", r.path(branch), repository.ErrBusy)}
}

// staleLock is longer than git holds a lock, unless one of its hooks dawdles.
const staleLock = time.Minute

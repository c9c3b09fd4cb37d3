package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/repository"
)

const (
	branchLock = branch + ".lock"
	// nextHead holds the id that the head is to have. While it is there, a
	// branch lock with the same id was made by svc.
	nextHead = "svc-next"

	// gitWait is how long a lock of git's is waited for. Git holds it for
	// moments, unless a hook of the repository takes its time.
	gitWait = time.Second
)

// prepare writes the id that the head is to have.
func (r reference) prepare(to string) error {
	if err := r.recover(); err != nil {
		return err
	}
	if err := r.files.create(r.path(nextHead), []byte(to+"\n"), 0o666); err != nil {
		return fmt.Errorf("preparing the head: %w", err)
	}
	return nil
}

// swap moves the branch from one commit to another that was prepared, or fails
// with ErrMoved or ErrBusy. Of all svc processes only the one with the write
// lock may call it.
//
// When it fails with anything else after the rename, the branch has moved and
// may not survive a power cut: the outcome is unknown, as with any time-out.
func (r reference) swap(ctx context.Context, from, to string) error {
	err := r.lock(ctx, to)
	current := ""
	if err == nil {
		current, err = r.read()
	}
	if err == nil && current != from {
		err = repository.ErrMoved
	}
	if err != nil {
		return errors.Join(repository.Unwritten(err), r.recover())
	}
	if err = r.files.rename(r.path(branchLock), r.path(branch)); err != nil {
		return errors.Join(fmt.Errorf("moving the head: %w", err), r.recover())
	}
	if err = r.files.syncDir(r.path(path.Dir(branch))); err != nil {
		return errors.Join(fmt.Errorf("flushing the head: %w", err), r.recover())
	}
	// The head has moved and is durable, and its lock went with it. What can
	// not be cleared away now will be by the next swap.
	_ = r.files.remove(r.path(nextHead))
	return nil
}

// lock makes the branch's lock file, with the id in it from the start. It
// waits a while for another holder.
func (r reference) lock(ctx context.Context, to string) error {
	err := poll(ctx, time.Now().Add(gitWait), func() error {
		err := r.tryToLock(to)
		if errors.Is(err, fs.ErrExist) {
			return filelock.ErrHeld
		}
		return err
	})
	if errors.Is(err, filelock.ErrHeld) {
		return r.held()
	}
	if err != nil {
		return fmt.Errorf("locking the head: %w", err)
	}
	return nil
}

func (r reference) tryToLock(to string) error {
	err := r.files.link(r.path(nextHead), r.path(branchLock))
	if errors.Is(err, fs.ErrNotExist) {
		// A tool may have removed the directory of branches when all of them
		// were packed.
		if err := r.files.mkdir(r.path(path.Dir(branch)), 0o777); err != nil {
			return err
		}
		if err := r.files.syncDir(r.path("refs")); err != nil {
			return err
		}
		err = r.files.link(r.path(nextHead), r.path(branchLock))
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links.
	return r.files.create(r.path(branchLock), []byte(to+"\n"), 0o666)
}

// flush makes the branch durable as it is, which another Advance may have failed to do.
func (r reference) flush() error {
	err := r.files.flush(r.path(branch))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // packed, and flushed by git
		return fmt.Errorf("flushing the head: %w", err)
	}
	return r.files.syncDir(r.path(path.Dir(branch)))
}

// recover clears away what is left of a swap: this process's own, or that of
// one that was killed in the middle. Only the process that serves the directory
// swaps, one swap at a time, so that nobody is in one. A lock is ours when it has what is
// in svc-next, whole: nobody else knows that id. It goes before this evidence.
func (r reference) recover() error {
	next, err := r.files.read(r.path(nextHead), maxRef)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var lock []byte
	if err == nil {
		lock, err = r.files.read(r.path(branchLock), maxRef)
	}
	_, cut := parseLoose(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && cut == nil && bytes.Equal(lock, next):
		err = r.files.remove(r.path(branchLock))
	}
	if err == nil {
		err = r.files.remove(r.path(nextHead))
	}
	if err != nil {
		return fmt.Errorf("clearing an unfinished write: %w", err)
	}
	return nil
}

package worktree

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/answers"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/statedir"
)

// remembered is what requests under an Idempotency-Key were answered. It outlives the
// process, and other servers of the directory have it, by a file of the user's: nothing of
// it lies with the files of the directory. It is written right after these: only who is
// killed in between has forgotten what was done.
type remembered struct {
	answers answers.Store
	logger  *slog.Logger
}

// answersOf is the file of what is remembered of a directory, whatever environment is
// served of it: beside the user's overrides; "" where there is no place.
func answersOf(dir string, file *overrides.File) string {
	if file == nil {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Dir(file.Path)), "answers", statedir.Name(dir)+".db")
}

// find is what was landed under an id; nil for nothing, and where that cannot be read.
func (r *remembered) find(ctx context.Context, id string) *repository.Landed {
	if id == "" || r.answers.File == nil {
		return nil
	}
	a, err := r.answers.Find(ctx, id)
	if err != nil || a == nil {
		return nil
	}
	return &repository.Landed{Commit: a.Commit, Previous: a.Previous, Request: a.Request, Answer: a.Answer, Until: time.Unix(a.Until, 0)}
}

// keep writes what a request was answered that has changed a directory. A file that is
// damaged begins anew.
func (r *remembered) keep(ctx context.Context, once *repository.Once, before, after *repository.Snapshot) {
	if once == nil || r.answers.File == nil {
		return
	}
	a := repository.Answered{ID: once.ID, Request: once.Request, Answer: once.Answer, Until: once.Until.Unix(),
		Commit: versionOf(after, once.Path), Previous: before.Head.Commit}
	if once.Path != "" {
		a.Previous = ""
		if file, found := before.File(once.Path); found {
			a.Previous = file.Last.SHA
		}
	}
	path := r.answers.File.Path
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = r.answers.Put(ctx, time.Now(), a)
	}
	if err != nil && !errors.Is(err, database.ErrBusy) {
		r.answers.File = database.New(path)
		err = errors.Join(os.Remove(path), r.answers.Put(ctx, time.Now(), a))
	}
	if err != nil && r.logger != nil {
		r.logger.Warn("what a request under an Idempotency-Key was answered is not remembered", "error", err)
	}
}

// versionOf is what an answer about a file names, or about all that there is.
func versionOf(s *repository.Snapshot, path string) string {
	if file, found := s.File(path); found {
		return file.Last.SHA
	}
	return s.Head.Commit
}

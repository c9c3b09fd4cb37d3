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
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
)

// remembered is what requests under an Idempotency-Key were answered. It outlives the
// process, and other servers of the directory have it, by a file of the user's: nothing of
// it lies with the files of the directory. It is written right after these: only who is
// killed in between has forgotten what was done.
type remembered struct {
	path   string // "" where there is no place
	table  *bolt.Table
	logger *slog.Logger
}

func (r *remembered) open(path string) { r.path, r.table = path, bolt.New(database.New(path)) }

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
	if id == "" || r.path == "" {
		return nil
	}
	a, err := answers.Store{Table: r.table}.Find(ctx, id)
	if err != nil || a == nil {
		return nil
	}
	return &repository.Landed{Commit: a.Commit, Previous: a.Previous, Request: a.Request, Answer: a.Answer, Until: time.Unix(a.Until, 0)}
}

// keep writes what a request was answered that has changed a directory. A file that is
// damaged begins anew.
func (r *remembered) keep(ctx context.Context, once *repository.Once, before, after *repository.Snapshot) {
	if once == nil || r.path == "" {
		return
	}
	a := repository.Answered{ID: once.ID, Request: once.Request, Answer: once.Answer, Until: once.Until.Unix(),
		Commit: after.Head.Commit, Previous: before.Head.Commit}
	if once.Path != "" {
		a.Previous = ""
	}
	if file, found := before.File(once.Path); found {
		a.Previous = file.Last.SHA
	}
	if file, found := after.File(once.Path); found {
		a.Commit = file.Last.SHA
	}
	err := os.MkdirAll(filepath.Dir(r.path), 0o700)
	if err == nil {
		err = r.put(ctx, a)
	}
	if err != nil && !errors.Is(err, table.ErrBusy) {
		r.open(r.path)
		err = errors.Join(os.Remove(r.path), r.put(ctx, a))
	}
	if err != nil && r.logger != nil {
		r.logger.Warn("what a request under an Idempotency-Key was answered is not remembered", "error", err)
	}
}

func (r *remembered) put(ctx context.Context, a repository.Answered) error {
	err := answers.Store{Table: r.table}.Put(ctx, a)
	if err == nil {
		_, err = r.table.Tidy(ctx, time.Now())
	}
	return err
}

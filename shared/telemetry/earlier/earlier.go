// Package earlier reads the file telemetry.db, in which versions before svc.db kept a
// data directory's telemetry, and takes it over. The file is a bbolt database, with these
// buckets in that of a workspace:
//
//	batches   id -> when it was received
//	shapes    "type", type -> JSON of its shape; "last", type -> the number of the batch that it was last in
//	groups    <environment, type>: lastBatch, the number of the batch that it was last in;
//	          keys, key -> JSON of the saved context; seen, when and key -> nothing
//	months    <month>: counts, type -> number of keys; notCounted; pairs, type and key
//	          (those over 48 bytes: 0xff and their SHA-256) -> nothing
//	evaluations    <environment>: <day>: item -> JSON of its tally
//	lastEvaluated  item -> the day on which it was evaluated last; beside it evaluatedSince
//
// Names that are made of several parts have the length before each.
//
// A pair of which only the SHA-256 is there is known again if its context is saved. Of
// others it is not known in a table: who comes again is counted once more in that month.
package earlier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry/rows"
)

// Name is the file's name in a data directory.
const Name = "telemetry.db"

// Exists reports whether a data directory has the file.
func Exists(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, Name))
	return !errors.Is(err, fs.ErrNotExist)
}

// Archive writes down what the file in a data directory has of a workspace, as
// rows.Store.Archive does.
func Archive(ctx context.Context, dir, workspace string, store *rows.Store, to io.Writer) error {
	path := filepath.Join(dir, Name)
	i := store.Import(workspace, to)
	err := database.New(path).View(ctx, func(tx *bolt.Tx) error {
		if root := tx.Bucket([]byte(workspace)); root != nil {
			return (&reading{root, i}).all()
		}
		return nil
	})
	return errors.Join(err, i.Close())
}

// TakeOver moves what the file in a data directory has into a table, if there is such a
// file, and nobody else uses either. Contexts are kept for so many days. The file is
// removed when all of it has been read back from the table. An error leaves the file as it
// is, and the table too if it has been empty.
func TakeOver(ctx context.Context, dir, workspace string, to table.Table, days int) error {
	path := filepath.Join(dir, Name)
	if !Exists(dir) {
		return nil
	}
	if err := database.New(path).Check(); err != nil {
		return err
	}
	store := rows.New(to, days)
	archive := func(w io.Writer) error { return Archive(ctx, dir, workspace, store, w) }
	err := to.Together(ctx, func(in table.Table) error {
		inner := rows.New(in, days)
		if empty, err := inner.IsEmpty(ctx, workspace); err != nil || !empty {
			return err // a TakeOver may have been killed before it removed the file
		}
		return pipe(archive, func(r io.Reader) error { return inner.Restore(ctx, workspace, r) })
	})
	if err == nil {
		err = pipe(archive, func(r io.Reader) error { return store.Compare(ctx, workspace, r) })
	}
	if errors.Is(err, rows.ErrDiffers) {
		return fmt.Errorf("an earlier version of svc has written to %s after this one had taken over what was in it; move the file away to go on without what it has counted since (%w)", path, err)
	}
	if err != nil {
		return fmt.Errorf("taking over the telemetry in %s: %w; nothing of it was changed: move the file away to go on without it", path, err)
	}
	return errors.Join(os.Remove(path), atomicfile.SyncFolder(dir))
}

// pipe has one read what another writes.
func pipe(write func(io.Writer) error, read func(io.Reader) error) error {
	r, w := io.Pipe()
	written := make(chan error)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		written <- err
	}()
	err := read(r)
	r.CloseWithError(err)
	if failed := <-written; err == nil {
		err = failed
	}
	return err
}

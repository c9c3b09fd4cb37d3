package bolt

import (
	"context"
	"errors"
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
)

// Table is a table in a file. It implements table.Table.
type Table struct {
	file   *database.File
	within *transaction // of Together; nil for none
}

// New is the table in a file, which others may keep other buckets in. It opens nothing.
func New(file *database.File) *Table { return &Table{file: file} }

// transaction is what Together runs in. bbolt's are for one goroutine.
type transaction struct {
	mu     sync.Mutex
	tx     *bolt.Tx
	wrote  bool
	failed error // of a change that may be half done
}

// errUnchanged ends a transaction that has nothing to commit.
var errUnchanged = errors.New("nothing to do")

// Together implements table.Table.
func (t *Table) Together(ctx context.Context, work func(table.Table) error) error {
	if t.within != nil {
		return work(t)
	}
	err := t.file.Update(ctx, func(tx *bolt.Tx) error {
		in := &transaction{tx: tx}
		err := work(&Table{t.file, in})
		if err == nil {
			err = in.failed
		}
		if err == nil && !in.wrote {
			err = errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return failure(err)
}

// view runs work on the rows as they are; without a file there is nothing to read.
func (t *Table) view(ctx context.Context, work func(*bolt.Bucket) error) error {
	read := func(tx *bolt.Tx) error {
		if b := tx.Bucket(rowsBucket); b != nil {
			return work(b)
		}
		return nil
	}
	if t.within == nil {
		return failure(t.file.View(ctx, read))
	}
	t.within.mu.Lock()
	defer t.within.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return read(t.within.tx)
}

// change runs work, which changes nothing if it is refused.
func (t *Table) change(ctx context.Context, work func(*bolt.Bucket) error) error {
	return t.Together(ctx, func(inner table.Table) error {
		in := inner.(*Table).within
		in.mu.Lock()
		defer in.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := in.tx.CreateBucketIfNotExists(rowsBucket)
		if err == nil {
			err = work(rows)
		}
		switch {
		case err == nil:
			in.wrote = true
		case !errors.Is(err, table.ErrRefused):
			in.failed = err
		}
		return err
	})
}

// Wipe implements table.Table.
func (t *Table) Wipe(ctx context.Context) error { return failure(t.file.Wipe(ctx)) }

// failure is an error in the table's words.
func failure(err error) error {
	if errors.Is(err, database.ErrBusy) {
		return fmt.Errorf("%w: %w", table.ErrBusy, err)
	}
	return err
}

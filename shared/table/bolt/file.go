package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
)

// Table is a table in a file. It implements table.Table.
type Table struct{ file *database.File }

// New is the table in a file. It opens nothing; the file is made by the first write.
func New(path string) *Table { return &Table{database.New(path)} }

// Check says why nothing could be written to a file that is there already.
func (t *Table) Check() error { return t.file.Check() }

// Copy writes the file as it is at one moment, and returns its size: 0 if there is none.
// Writers wait meanwhile, so that it should go to a disk.
func (t *Table) Copy(ctx context.Context, to io.Writer) (size int64, err error) {
	return t.file.Copy(ctx, to)
}

// view runs work on the rows as they are; without a file there is nothing to read.
func (t *Table) view(ctx context.Context, work func(*bolt.Bucket) error) error {
	return failure(t.file.View(ctx, func(tx *bolt.Tx) error {
		if b := tx.Bucket(rowsBucket); b != nil {
			return work(b)
		}
		return nil
	}))
}

// errUnchanged ends a change that finds nothing to do.
var errUnchanged = errors.New("nothing to do")

// change runs work as one transaction.
func (t *Table) change(ctx context.Context, work func(*tx) error) error {
	err := t.file.Update(ctx, func(inner *bolt.Tx) error {
		opened, err := begin(inner)
		if err != nil {
			return err
		}
		return work(opened)
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return failure(err)
}

// failure is an error in the table's words.
func failure(err error) error {
	if errors.Is(err, database.ErrBusy) {
		return fmt.Errorf("%w: %w", table.ErrBusy, err)
	}
	return err
}

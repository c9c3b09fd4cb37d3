package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/telemetry"
)

// Name is the file's name in a data directory.
const Name = "telemetry.db"

// Store is the telemetry in a data directory. It implements telemetry.Store.
type Store struct {
	*database.File
	kept int // contexts of a group
	// searched is how many contexts a search looks at.
	searched int

	known known
}

// New is the store of a data directory. It opens nothing.
func New(dir string) *Store {
	return &Store{File: database.New(filepath.Join(dir, Name)), kept: telemetry.MaxSaved, searched: telemetry.MaxSearched}
}

// read runs work on the file as it is. Where there is no file there is nothing
// to be read.
func (s *Store) read(ctx context.Context, workspace string, work func(*bolt.Bucket) error) error {
	return busy(s.View(ctx, func(tx *bolt.Tx) error {
		if b := tx.Bucket([]byte(workspace)); b != nil {
			return work(b)
		}
		return nil
	}))
}

// busy is an error in the words of package telemetry.
func busy(err error) error {
	if errors.Is(err, database.ErrBusy) {
		return fmt.Errorf("%w: %w", telemetry.ErrBusy, err)
	}
	return err
}

// errNothing ends a change that finds nothing to do.
var errNothing = errors.New("nothing to do")

// change runs work as one transaction.
func (s *Store) change(ctx context.Context, workspace string, work func(*bolt.Bucket) error) error {
	err := s.Update(ctx, func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(workspace))
		if err != nil {
			return err
		}
		return work(b)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return busy(err)
}

// Verify says why the file, if there is one, is no store of a workspace.
func (s *Store) Verify(ctx context.Context, workspace string) error {
	return s.read(ctx, workspace, func(*bolt.Bucket) error { return nil })
}

// Package database is a bbolt database in one file, which several processes may use: each
// opens it for one piece of work, and holds the lock that bbolt takes no longer. The file
// is made whole, by the first who writes. A damaged one is an error that says so, and
// never a panic.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/fault"
)

// ErrBusy is wrapped where others did not let go of the file in time.
var ErrBusy = errors.New("the file is in use")

// File is a database. Its methods may be called by many at once.
type File struct {
	Path string
	// Guard may refuse what is to be done, once the file is open: it may be another's.
	Guard func() error
	turn  chan struct{} // of this process

	damaged error // found when the file was opened; guarded by turn
}

// New is the database in a file. It opens nothing.
func New(path string) *File {
	return &File{Path: path, Guard: func() error { return nil }, turn: make(chan struct{}, 1)}
}

// wait is how long a process waits for others that have the file open.
const wait = 10 * time.Second

// IsEmpty reports whether there is nothing to be read.
func (f *File) IsEmpty() bool {
	info, err := os.Stat(f.Path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// Check says why nothing could be written to a file that is there already.
func (f *File) Check() error {
	file, err := os.OpenFile(f.Path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w; the user who runs svc has to be able to write this file; if it is lost, move it away, and a new one is made", f.Path, errors.Unwrap(err))
	}
	return file.Close()
}

// View runs work on the file as it is. Where there is none, work is not run.
func (f *File) View(ctx context.Context, work func(*bolt.Tx) error) error {
	if f.IsEmpty() {
		return nil
	}
	return f.open(ctx, true, func(db *bolt.DB) error { return db.View(work) })
}

// Update runs work as one transaction, which is on the disk when it returns.
func (f *File) Update(ctx context.Context, work func(*bolt.Tx) error) error {
	if err := f.create(); err != nil {
		return withCause(err)
	}
	return withCause(f.open(ctx, false, func(db *bolt.DB) error { return db.Update(work) }))
}

// create makes the file beside its place and links it there when it is whole,
// so that nobody ever finds half of one.
func (f *File) create() error {
	if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.Guard(); err != nil {
		return err
	}
	dir := filepath.Dir(f.Path)
	name := filepath.Base(f.Path)
	unfinished, discard, err := atomicfile.Unfinished(f.Path)
	if err != nil {
		return err
	}
	defer discard()
	path := filepath.Join(unfinished, name)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := atomicfile.GiveToFolder(unfinished); err != nil {
		return err
	}
	if err := atomicfile.GiveToFolder(path); err != nil { // to that of the one above
		return err
	}
	err = os.Link(path, f.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = os.Rename(path, f.Path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, atomicfile.SyncFolder(dir))
}

// pauses are short: a busy process lets go of the file for some hundred microseconds in
// some milliseconds.
var pauses = backoff.Backoff{First: 400 * time.Microsecond, Max: 4 * time.Millisecond}

// open opens the file for one piece of work, when its turn has come.
func (f *File) open(ctx context.Context, readOnly bool, work func(*bolt.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
	}
	defer func() { <-f.turn }()
	if f.damaged != nil {
		return f.damaged
	}
	for try := 0; ; try++ {
		err := f.once(readOnly, work)
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return err
		}
		if pauses.Wait(ctx, try) != nil {
			return fmt.Errorf("%w: %s stayed locked by another process", ErrBusy, f.Path)
		}
	}
}

// once opens the file when its lock is free, and is ErrTimeout when it is not.
// bbolt panics when it meets a damaged file, or when the system cannot read
// what it has mapped into memory. That fails the work and nothing else; a file
// that was left open then keeps its lock, so it is not tried again.
func (f *File) once(readOnly bool, work func(*bolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var db *bolt.DB
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is damaged: %v", f.Path, p)
			if db == nil {
				f.damaged = err
			}
		}
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db, err = bolt.Open(f.Path, 0o600, &bolt.Options{ReadOnly: readOnly, Timeout: 1}) // one try
	if err != nil {
		db = nil
		return fmt.Errorf("opening %s: %w", f.Path, err)
	}
	if err := f.Guard(); err != nil {
		return err
	}
	return work(db)
}

// withCause adds the error of a full disk where bbolt has made words of it, as it
// does when a file cannot grow.
func withCause(err error) error {
	if err == nil || fault.IsFullDisk(err) {
		return err
	}
	if full := fault.FullDiskIn(err.Error()); full != nil {
		return fmt.Errorf("%w (%w)", err, full)
	}
	return err
}

// Wipe overwrites what deletions have left in the file: bbolt gives pages back for later
// use, and leaves in them what they hold.
func (f *File) Wipe(ctx context.Context) error {
	if f.IsEmpty() {
		return nil
	}
	return f.open(ctx, false, func(db *bolt.DB) error {
		file, err := os.OpenFile(f.Path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		page := int64(db.Info().PageSize)
		empty := make([]byte, page)
		err = db.View(func(tx *bolt.Tx) error {
			for id := int64(2); id*page < tx.Size(); id++ { // the first two are the roots
				info, err := tx.Page(int(id))
				if err != nil || info == nil {
					return err
				}
				if info.Type != "free" {
					id += int64(info.OverflowCount)
					continue
				}
				if _, err := file.WriteAt(empty, id*page); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, file.Sync())
	})
}

package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/table"
)

// Table is a table in a file. It implements table.Table.
type Table struct {
	path string
	turn chan struct{} // of this process

	damaged error // found when the file was opened; guarded by turn
}

// New is the table in a file. It opens nothing; the file is made by the first write.
func New(path string) *Table { return &Table{path: path, turn: make(chan struct{}, 1)} }

// Check says why nothing could be written to a file that is there already.
func (t *Table) Check() error {
	f, err := os.OpenFile(t.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w; the user who runs svc has to be able to write this file; if it is lost, move it away, and a new one is made", t.path, errors.Unwrap(err))
	}
	return f.Close()
}

// Copy writes the file as it is at one moment, and returns its size: 0 if there is none.
// Writers wait meanwhile, so that it should go to a disk.
func (t *Table) Copy(ctx context.Context, to io.Writer) (size int64, err error) {
	if t.isEmpty() {
		return 0, nil
	}
	err = t.open(ctx, true, func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			size, err = tx.WriteTo(to)
			return err
		})
	})
	return size, err
}

func (t *Table) isEmpty() bool {
	info, err := os.Stat(t.path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// view runs work on the file as it is; without a file there is nothing to read.
func (t *Table) view(ctx context.Context, work func(*bolt.Bucket) error) error {
	if t.isEmpty() {
		return nil
	}
	return t.open(ctx, true, func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			if b := tx.Bucket(rowsBucket); b != nil {
				return work(b)
			}
			return nil
		})
	})
}

// errUnchanged ends a change that finds nothing to do.
var errUnchanged = errors.New("nothing to do")

// change runs work as one transaction.
func (t *Table) change(ctx context.Context, work func(*tx) error) error {
	if err := t.create(); err != nil {
		return withCause(err)
	}
	err := t.open(ctx, false, func(db *bolt.DB) error {
		return db.Update(func(inner *bolt.Tx) error {
			opened, err := begin(inner)
			if err != nil {
				return err
			}
			return work(opened)
		})
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return withCause(err)
}

// create makes the file beside its place and links it there when it is complete, so
// that nobody ever finds half of one.
func (t *Table) create() error {
	if _, err := os.Stat(t.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, name := filepath.Split(t.path)
	unfinished, discard, err := atomicfile.Unfinished(t.path)
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
	err = os.Link(path, t.path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = os.Rename(path, t.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, atomicfile.SyncFolder(dir))
}

// How long a process waits for others that have the file open, and how long it pauses
// between two looks.
const (
	wait       = 10 * time.Second
	firstPause = 200 * time.Microsecond
	maxPause   = 20 * time.Millisecond
)

// open opens the file for one piece of work, when its turn has come.
func (t *Table) open(ctx context.Context, readOnly bool, work func(*bolt.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", table.ErrBusy, ctx.Err())
	}
	defer func() { <-t.turn }()
	if t.damaged != nil {
		return t.damaged
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := t.openOnce(readOnly, work)
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s stayed locked by another process", table.ErrBusy, t.path)
		case <-time.After(pause):
		}
	}
}

// openOnce opens the file if its lock is free, else it returns ErrTimeout.
// bbolt panics when it meets a damaged file, or when the system cannot read what it has
// mapped into memory. That fails the work and nothing else; a file that was left open
// then keeps its lock, so it is not tried again.
func (t *Table) openOnce(readOnly bool, work func(*bolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var db *bolt.DB
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is damaged: %v", t.path, p)
			if db == nil {
				t.damaged = err
			}
		}
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db, err = bolt.Open(t.path, 0o600, &bolt.Options{ReadOnly: readOnly, Timeout: 1}) // one try
	if err != nil {
		db = nil
		return fmt.Errorf("opening %s: %w", t.path, err)
	}
	return work(db)
}

// withCause adds the error of a full disk where bbolt has made words of it, as it does
// when a file cannot grow.
func withCause(err error) error {
	if err == nil || fault.IsFullDisk(err) {
		return err
	}
	if full := fault.FullDiskIn(err.Error()); full != nil {
		return fmt.Errorf("%w (%w)", err, full)
	}
	return err
}

// Wipe overwrites what deletions have left in the file.
func (t *Table) Wipe(ctx context.Context) error {
	if t.isEmpty() {
		return nil
	}
	return t.open(ctx, false, func(db *bolt.DB) error {
		f, err := os.OpenFile(t.path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
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
				if _, err := f.WriteAt(empty, id*page); err != nil {
					return err
				}
			}
			return nil
		})
		return errors.Join(err, f.Sync())
	})
}

package local

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
	"svc.example/svc/shared/telemetry"
)

// Name is the file's name in a data directory.
const Name = "telemetry.db"

// Store is the telemetry in a data directory. It implements telemetry.Store.
type Store struct {
	path string
	turn chan struct{} // of this process
	kept int           // contexts of a group
	// searched is how many contexts a search looks at.
	searched int

	damaged error // found when the file was opened; guarded by turn
	known   known
}

// New is the store of a data directory. It opens nothing.
func New(dir string) *Store {
	return &Store{path: filepath.Join(dir, Name), turn: make(chan struct{}, 1), kept: telemetry.MaxSaved, searched: telemetry.MaxSearched}
}

// Check says why nothing could be recorded in a file that is there already.
func (s *Store) Check() error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w; whoever runs svc has to be able to write this file; where it is lost, move it away, and another is made", s.path, errors.Unwrap(err))
	}
	return f.Close()
}

// wait is how long one who wants the file waits for others.
const wait = 10 * time.Second

// read runs work on the file as it is. Where there is no file there is nothing
// to be read.
func (s *Store) read(ctx context.Context, workspace string, work func(*bolt.Bucket) error) error {
	if info, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	return s.open(ctx, true, func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			if b := tx.Bucket([]byte(workspace)); b != nil {
				return work(b)
			}
			return nil
		})
	})
}

// errNothing ends a change that finds nothing to do.
var errNothing = errors.New("nothing to do")

// change runs work as one transaction.
func (s *Store) change(ctx context.Context, workspace string, work func(*bolt.Bucket) error) error {
	if err := s.create(); err != nil {
		return withCause(err)
	}
	err := s.open(ctx, false, func(db *bolt.DB) error {
		return db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(workspace))
			if err != nil {
				return err
			}
			return work(b)
		})
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return withCause(err)
}

// Copy writes the file as it is at one moment, and says how long that is: 0 where
// there is none. Whoever has something to record waits meanwhile, so that it should
// go to a disk.
func (s *Store) Copy(ctx context.Context, to io.Writer) (size int64, err error) {
	if info, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	err = s.open(ctx, true, func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			size, err = tx.WriteTo(to)
			return err
		})
	})
	return size, err
}

// Verify says why the file, if there is one, is no store of a workspace.
func (s *Store) Verify(ctx context.Context, workspace string) error {
	return s.read(ctx, workspace, func(*bolt.Bucket) error { return nil })
}

// create makes the file beside its place and links it there when it is whole,
// so that nobody ever finds half of one.
func (s *Store) create() error {
	if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(s.path)
	unfinished, err := os.MkdirTemp(dir, Name+".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	path := filepath.Join(unfinished, Name)
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
	err = os.Link(path, s.path)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = os.Rename(path, s.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, atomicfile.SyncFolder(dir))
}

const (
	firstPause = 200 * time.Microsecond
	maxPause   = 20 * time.Millisecond
)

// open opens the file for one piece of work, when its turn has come.
func (s *Store) open(ctx context.Context, readOnly bool, work func(*bolt.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", telemetry.ErrBusy, ctx.Err())
	}
	defer func() { <-s.turn }()
	if s.damaged != nil {
		return s.damaged
	}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := s.once(readOnly, work)
		if !errors.Is(err, bolterrors.ErrTimeout) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s stayed locked by another process", telemetry.ErrBusy, s.path)
		case <-time.After(pause):
		}
	}
}

// once opens the file when its lock is free, and is ErrTimeout when it is not.
// bbolt panics when it meets a damaged file, or when the system cannot read
// what it has mapped into memory. That fails the work and nothing else; a file
// that was left open then keeps its lock, so it is not tried again.
func (s *Store) once(readOnly bool, work func(*bolt.DB) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var db *bolt.DB
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s is damaged: %v", s.path, p)
			if db == nil {
				s.damaged = err
			}
		}
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	db, err = bolt.Open(s.path, 0o600, &bolt.Options{ReadOnly: readOnly, Timeout: 1}) // one try
	if err != nil {
		db = nil
		return fmt.Errorf("opening %s: %w", s.path, err)
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

package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/regularfile"
)

// Operation is a step on the file system.
type Operation string

// The steps.
const (
	OpStat    Operation = "stat"
	OpRead    Operation = "read"
	OpCreate  Operation = "create"
	OpWrite   Operation = "write"
	OpSync    Operation = "sync"
	OpLink    Operation = "link"
	OpRename  Operation = "rename"
	OpRemove  Operation = "remove"
	OpMkdir   Operation = "mkdir"
	OpSyncDir Operation = "syncdir"
	OpLock    Operation = "lock"
)

// filesystem is the only way to the file system. Before each step it asks step,
// which may note it, refuse it, or kill the process.
type filesystem struct {
	step func(Operation, string) error
}

func (s filesystem) before(op Operation, path string) error {
	if s.step == nil {
		return nil
	}
	if err := s.step(op, path); err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

func (s filesystem) stat(path string) (fs.FileInfo, error) {
	if err := s.before(OpStat, path); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// read returns a file's content, which may have up to limit bytes.
func (s filesystem) read(path string, limit int64) ([]byte, error) {
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

func (s filesystem) open(path string) (*os.File, error) {
	if err := s.before(OpRead, path); err != nil {
		return nil, err
	}
	return regularfile.Open(path)
}

var errTooLarge = errors.New("the file is too large")

func readAll(f *os.File, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: errTooLarge}
	}
	return content, err
}

// create makes a file that must not exist, with its content, flushed. What it
// could not finish it removes.
func (s filesystem) create(path string, content []byte, mode fs.FileMode) error {
	if err := s.before(OpCreate, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = errors.Join(s.fill(f, content), f.Close(), atomicfile.GiveToFolder(path))
	if err != nil {
		os.Remove(path)
	}
	return err
}

func (s filesystem) fill(f *os.File, content []byte) error {
	if err := s.write(f, content); err != nil {
		return err
	}
	if err := s.before(OpSync, f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// flush makes a file durable as it is.
func (s filesystem) flush(path string) error {
	if err := s.before(OpSync, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (s filesystem) write(f *os.File, content []byte) error {
	if err := s.before(OpWrite, f.Name()); err != nil {
		return err
	}
	_, err := f.Write(content)
	return err
}

func (s filesystem) link(from, to string) error {
	if err := s.before(OpLink, to); err != nil {
		return err
	}
	return os.Link(from, to)
}

func (s filesystem) rename(from, to string) error {
	if err := s.before(OpRename, to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// remove takes a file away; one that is not there is no error.
func (s filesystem) remove(path string) error {
	if err := s.before(OpRemove, path); err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mkdir makes a folder, if there is none. It makes none around it: who has moved that away
// may be about to put something else in its place.
func (s filesystem) mkdir(path string, mode fs.FileMode) error {
	if err := s.before(OpMkdir, path); err != nil {
		return err
	}
	if err := os.Mkdir(path, mode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// syncDir flushes a directory, so that a new or renamed name in it survives a
// power cut.
func (s filesystem) syncDir(path string) error {
	if err := s.before(OpSyncDir, path); err != nil {
		return err
	}
	return atomicfile.SyncFolder(path)
}

// replace puts content in the place of the file at path, durably: a reader, also
// after a crash, finds all of the old content or all of the new, and only this user may
// read it.
// Only one process at a time may call it for a path.
func (s filesystem) replace(path string, content []byte) error {
	next := path + ".next"
	if err := s.remove(next); err != nil {
		return err
	}
	if err := s.create(next, content, registryMode); err != nil {
		return err
	}
	if err := s.rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return s.syncDir(filepath.Dir(path))
}

package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
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

// disk is the only way to the file system. Before each step it asks step,
// which may note it, refuse it, or kill the process.
type disk struct {
	step func(Operation, string) error
}

func (d disk) before(op Operation, path string) error {
	if d.step == nil {
		return nil
	}
	if err := d.step(op, path); err != nil {
		return &fs.PathError{Op: string(op), Path: path, Err: err}
	}
	return nil
}

func (d disk) stat(path string) (fs.FileInfo, error) {
	if err := d.before(OpStat, path); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// read returns a file's content, which may have up to limit bytes.
func (d disk) read(path string, limit int64) ([]byte, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

func (d disk) open(path string) (*os.File, error) {
	if err := d.before(OpRead, path); err != nil {
		return nil, err
	}
	return os.Open(path)
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
func (d disk) create(path string, content []byte, mode fs.FileMode) error {
	if err := d.before(OpCreate, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = errors.Join(d.fill(f, content), f.Close())
	if err != nil {
		os.Remove(path)
	}
	return err
}

func (d disk) fill(f *os.File, content []byte) error {
	if err := d.write(f, content); err != nil {
		return err
	}
	if err := d.before(OpSync, f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

func (d disk) write(f *os.File, content []byte) error {
	if err := d.before(OpWrite, f.Name()); err != nil {
		return err
	}
	_, err := f.Write(content)
	return err
}

func (d disk) link(from, to string) error {
	if err := d.before(OpLink, to); err != nil {
		return err
	}
	return os.Link(from, to)
}

func (d disk) rename(from, to string) error {
	if err := d.before(OpRename, to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// remove takes a file away; one that is not there is no error.
func (d disk) remove(path string) error {
	if err := d.before(OpRemove, path); err != nil {
		return err
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d disk) mkdir(path string, mode fs.FileMode) error {
	if err := d.before(OpMkdir, path); err != nil {
		return err
	}
	return os.MkdirAll(path, mode)
}

// syncDir flushes a directory, so that a new or renamed name in it survives a
// power cut.
func (d disk) syncDir(path string) error {
	if err := d.before(OpSyncDir, path); err != nil {
		return err
	}
	return flushDirectory(path)
}

// replace puts content in the place of the file at path, durably: a reader, and
// whoever looks after a crash, finds all of the old content or all of the new.
// Only one process at a time may call it for a path.
func (d disk) replace(path, parent string, content []byte, mode fs.FileMode) error {
	next := path + ".next"
	if err := d.remove(next); err != nil {
		return err
	}
	if err := d.create(next, content, mode); err != nil {
		return err
	}
	if err := d.rename(next, path); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return d.syncDir(parent)
}

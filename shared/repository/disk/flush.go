package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/go-git/go-billy/v5"
)

// flush makes what was written to a file survive a loss of power.
func flush(f billy.File) error {
	s, ok := f.(interface{ Sync() error })
	if !ok {
		return fmt.Errorf("the file system of %s (%T) can not flush files", f.Name(), f)
	}
	return s.Sync()
}

// flushFolder makes the names in a folder survive a loss of power.
func flushFolder(files files, path string) error {
	if runtime.GOOS == "windows" {
		return nil // NTFS journals names itself, and folders can not be flushed
	}
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(flush(f), f.Close())
}

// flushFile makes a file that is there already survive a loss of power.
func flushFile(files files, path string) error {
	f, err := files.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) { // packs are read-only, which fsync does not mind
		f, err = files.Open(path)
	}
	if err != nil {
		return err
	}
	return errors.Join(flush(f), f.Close())
}

// write makes a new file and flushes it.
func write(files files, path string, mode os.FileMode, parts ...[]byte) error {
	f, err := files.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err == nil {
		err = flush(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, files.Remove(path))
	}
	return err
}

package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/go-git/go-billy/v5"
)

// flush makes what was written to a file survive a loss of power.
func flush(f billy.File) error {
	s, ok := f.(interface{ Sync() error })
	if !ok {
		return fmt.Errorf("the file system of %s (%T) cannot flush files", f.Name(), f)
	}
	return s.Sync()
}

// flushFolder makes the names in a folder survive a loss of power.
func flushFolder(files files, path string) error {
	if runtime.GOOS == "windows" {
		return nil // NTFS journals names itself, and folders cannot be flushed
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

// newFile is a file that is to be made.
type newFile struct {
	path    string
	content []byte
}

// write makes new files and flushes them, or leaves none behind. All are written
// before the first is flushed: what the file system then has to write down of
// them it writes down once.
func write(files files, mode os.FileMode, all ...newFile) error {
	var made []billy.File
	var err error
	for _, one := range all {
		f, failure := files.OpenFile(one.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if failure == nil {
			made = append(made, f)
			_, failure = f.Write(one.content)
		}
		if err = failure; err != nil {
			break
		}
	}
	if err == nil {
		err = flushAll(made)
	}
	for _, f := range made {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		for i := range made {
			err = errors.Join(err, files.Remove(all[i].path))
		}
	}
	return err
}

// flushAll flushes files at the same time.
func flushAll(files []billy.File) error {
	errs := make([]error, len(files))
	var flushing sync.WaitGroup
	for i, f := range files[1:] {
		flushing.Go(func() { errs[i+1] = flush(f) })
	}
	errs[0] = flush(files[0])
	flushing.Wait()
	return errors.Join(errs...)
}

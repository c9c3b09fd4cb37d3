package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/util"

	"svc.example/svc/shared/regularfile"
	"svc.example/svc/shared/repository/pack"
)

// files is what a repository needs of a file system.
type files interface {
	billy.Basic
	billy.Dir
	Root() string
}

// folder is the file system below a directory. Billy's own one, bound to a
// directory, looks at each part of each path for symbolic links before it does
// anything; to store a pack that is some forty looks. The paths of this
// package lead where they say, so that it goes there at once. And where a directory
// has been moved away, billy's makes it again for the next file.
type folder struct {
	root string
	trim string // what paths begin with and the directory does not
}

// file is one as billy has it. Nothing here locks one.
type file struct{ *os.File }

func (file) Lock() error { return errors.ErrUnsupported }

func (file) Unlock() error { return errors.ErrUnsupported }

func local(dir string) (files, error) {
	absolute, err := filepath.Abs(dir)
	return folder{root: absolute}, err
}

func (f folder) at(path string) string {
	return filepath.Join(f.root, strings.TrimPrefix(path, f.trim))
}

func (f folder) Root() string { return f.root }

func (f folder) Join(parts ...string) string { return filepath.Join(parts...) }

func (f folder) Create(path string) (billy.File, error) {
	return f.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open waits for no pipe: the repository may be another's.
func (f folder) Open(path string) (billy.File, error) {
	opened, err := regularfile.Open(f.at(path))
	if err != nil {
		return nil, err
	}
	return file{opened}, nil
}

func (f folder) OpenFile(path string, flag int, mode os.FileMode) (billy.File, error) {
	opened, err := os.OpenFile(f.at(path), flag, mode)
	if err != nil {
		return nil, err
	}
	return file{opened}, nil
}

func (f folder) Stat(path string) (os.FileInfo, error) { return os.Stat(f.at(path)) }

func (f folder) Rename(from, to string) error { return os.Rename(f.at(from), f.at(to)) }

func (f folder) Remove(path string) error { return os.Remove(f.at(path)) }

// ReadDir leaves out what is deleted or gets another name while it reads: billy's fails then.
func (f folder) ReadDir(path string) ([]os.FileInfo, error) {
	entries, err := os.ReadDir(f.at(path))
	found := make([]os.FileInfo, 0, len(entries))
	for _, e := range entries {
		info, gone := e.Info()
		if errors.Is(gone, fs.ErrNotExist) {
			continue
		}
		if gone != nil {
			return nil, gone
		}
		found = append(found, info)
	}
	return found, err
}

func (f folder) MkdirAll(path string, mode os.FileMode) error {
	return os.MkdirAll(f.at(path), mode)
}

// flush makes what was written to a file survive a loss of power.
func flush(f billy.File) error {
	s, ok := f.(interface{ Sync() error })
	if !ok {
		return fmt.Errorf("the file system of %s (%T) cannot flush files", f.Name(), f)
	}
	return s.Sync()
}

// flushAll flushes files at the same time.
func flushAll(files ...billy.File) error {
	errs := make([]error, len(files))
	var flushing sync.WaitGroup
	for i, f := range files[1:] {
		flushing.Go(func() { errs[i+1] = flush(f) })
	}
	errs[0] = flush(files[0])
	flushing.Wait()
	return errors.Join(errs...)
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

// store is a file system as package odb needs it.
type store struct {
	files
	owner string // in the names of the files that are being written

	guarding sync.Mutex
	guarded  map[string]guarded // packs whose .keep is ours
}

// ReadFile implements odb.FS.
func (s *store) ReadFile(_ context.Context, path string) ([]byte, error) {
	return util.ReadFile(s.files, path)
}

// Open implements odb.Opener.
func (s *store) Open(path string) (pack.Bytes, error) { return s.files.Open(path) }

// ReadDir implements odb.FS.
func (s *store) ReadDir(_ context.Context, path string) ([]fs.FileInfo, error) {
	return s.files.ReadDir(path)
}

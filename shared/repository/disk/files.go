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
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-billy/v5/util"

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
// package lead where they say, so that it goes there at once.
type folder struct {
	root string
	trim string // what paths begin with and the directory does not
	*osfs.ChrootOS
}

func local(dir string) (files, error) {
	absolute, err := filepath.Abs(dir)
	return folder{root: absolute, ChrootOS: osfs.Default}, err
}

func (f folder) at(path string) string {
	return filepath.Join(f.root, strings.TrimPrefix(path, f.trim))
}

func (f folder) Root() string { return f.root }

func (f folder) Create(path string) (billy.File, error) { return f.ChrootOS.Create(f.at(path)) }

func (f folder) Open(path string) (billy.File, error) { return f.ChrootOS.Open(f.at(path)) }

func (f folder) OpenFile(path string, flag int, mode os.FileMode) (billy.File, error) {
	return f.ChrootOS.OpenFile(f.at(path), flag, mode)
}

func (f folder) Stat(path string) (os.FileInfo, error) { return f.ChrootOS.Stat(f.at(path)) }

func (f folder) Rename(from, to string) error { return f.ChrootOS.Rename(f.at(from), f.at(to)) }

func (f folder) Remove(path string) error { return f.ChrootOS.Remove(f.at(path)) }

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
	return f.ChrootOS.MkdirAll(f.at(path), mode)
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
	guarded  map[string]string // packs whose .keep is ours, and as what they were put
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

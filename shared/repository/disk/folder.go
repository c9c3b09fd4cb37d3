package disk

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// files is what a repository needs of a file system.
type files interface {
	billy.Basic
	billy.Dir
	Root() string
}

// linker is a file system in which a file can have a second name.
type linker interface {
	Link(from, to string) error
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

func (f folder) Link(from, to string) error { return os.Link(f.at(from), f.at(to)) }

func (f folder) Remove(path string) error { return f.ChrootOS.Remove(f.at(path)) }

func (f folder) ReadDir(path string) ([]os.FileInfo, error) { return f.ChrootOS.ReadDir(f.at(path)) }

func (f folder) MkdirAll(path string, mode os.FileMode) error {
	return f.ChrootOS.MkdirAll(f.at(path), mode)
}

func (f folder) TempFile(dir, prefix string) (billy.File, error) {
	return f.ChrootOS.TempFile(f.at(dir), prefix)
}

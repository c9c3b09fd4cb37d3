package pull

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"svc.example/svc/shared/git"
)

// directory is the one that is pulled into. Nothing outside it is read or
// written, whatever links lie in it. One that does not exist has no root and
// reads as empty.
type directory struct{ root *os.Root }

func openDirectory(dir string) (directory, error) {
	if _, err := git.Locate(dir); err != nil {
		return directory{}, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return directory{}, nil
	}
	return directory{root}, err
}

func (d directory) close() error {
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}

// maxFile is how long a file may be that is read: many times what a workspace takes.
const maxFile = 64 << 20 // bytes

var errIrregular = errors.New("it is a link or no file")

// read reads a file, nil when there is none.
func (d directory) read(name string) ([]byte, error) {
	if d.root == nil {
		return nil, nil
	}
	info, err := d.root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, d.explain(name, err)
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes, and a file may have %d", name, info.Size(), maxFile)
	}
	content, err := d.root.ReadFile(filepath.FromSlash(name))
	if err == nil && content == nil {
		content = []byte{}
	}
	return content, d.explain(name, err)
}

// explain says so where a folder is a link that leads elsewhere.
func (d directory) explain(name string, err error) error {
	if err == nil || d.root == nil {
		return err
	}
	folder := path.Dir(name)
	if info, wrong := d.root.Lstat(folder); wrong == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, wrong := d.root.Stat(folder); wrong != nil {
			return fmt.Errorf("%s is a symbolic link that leads out of the directory, or nowhere; put a folder in its place", folder)
		}
	}
	return err
}

// names are the names in a folder, for a note to whoever pulls; none where it
// cannot be read.
func (d directory) names(folder string) []string {
	if d.root == nil {
		return nil
	}
	f, err := d.root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return names
}

// obstacle says what stands in the way of a file at a path, or "".
func (d directory) obstacle(name string) string {
	if d.root == nil {
		return ""
	}
	folder := path.Dir(name)
	if info, err := d.root.Stat(folder); err == nil && !info.IsDir() {
		return folder + " is a file, and a folder is expected: move it away"
	}
	if info, err := d.root.Lstat(filepath.FromSlash(name)); err == nil && info.IsDir() {
		return name + " is a folder: move it away"
	}
	return ""
}

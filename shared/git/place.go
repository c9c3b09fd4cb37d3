package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is where a directory lies, with no symbolic link in Dir and Top.
type Place struct {
	Dir string
	Top string // that holds the .git; "" for none
	// Path leads from Top to the directory as it was named: through symbolic links that
	// lie in the repository, and so may be others in another commit.
	Path string
}

// LedOut is a directory that symbolic links of one repository lead to, and that is in
// none or in another.
type LedOut struct{ Named, Dir, Top string }

func (l *LedOut) Error() string {
	return fmt.Sprintf("a symbolic link in the repository %s leads from %s out of it to %s; if you mean that directory, name it itself with --datadir", l.Top, l.Named, l.Dir)
}

// Locate finds the repository that a directory lies in, which need not exist, as it is
// named and as it is: links that came with a repository do not lead out of it. That is
// a *LedOut.
func Locate(dir string) (Place, error) {
	named, err := filepath.Abs(dir)
	if err != nil {
		return Place{}, err
	}
	at := Place{}
	if at.Dir, err = resolve(named); err != nil {
		return Place{}, err
	}
	for path := at.Dir; at.Top == ""; path = filepath.Dir(path) {
		if isRepository(filepath.Join(path, ".git")) {
			at.Top = path
		} else if path == filepath.Dir(path) {
			break
		}
	}
	at.Path, _ = filepath.Rel(at.Top, at.Dir)
	inner, innermost := "", ""
	for path := named; ; path = filepath.Dir(path) {
		if isRepository(filepath.Join(path, ".git")) {
			top, err := resolve(path)
			if err != nil {
				return Place{}, err
			}
			if inner == "" {
				inner, innermost = path, top
				at.Path, _ = filepath.Rel(path, named)
			}
			below, err := filepath.Rel(path, inner)
			if err != nil || innermost != at.Top || filepath.Join(top, below) != innermost {
				return Place{}, &LedOut{named, at.Dir, top}
			}
		}
		if path == filepath.Dir(path) {
			return at, nil
		}
	}
}

// resolve is filepath.EvalSymlinks for what need not exist.
func resolve(path string) (string, error) {
	at, err := filepath.EvalSymlinks(path)
	if _, missing := os.Lstat(path); err == nil || !errors.Is(missing, fs.ErrNotExist) || path == filepath.Dir(path) {
		return at, err
	}
	at, err = resolve(filepath.Dir(path))
	return filepath.Join(at, filepath.Base(path)), err
}

// isRepository reports whether git takes a .git for one: a file leads to one elsewhere.
func isRepository(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil
	}
	_, err = os.Lstat(filepath.Join(path, "HEAD"))
	return err == nil
}

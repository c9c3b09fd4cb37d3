package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// inside is a datadir whose files are reached through an os.Root: symbolic links
// are followed within the directory and never out of it.
type inside struct {
	dir  string
	root *os.Root
}

// found is what stands at a path, at the end of its symbolic links.
type found struct {
	info    fs.FileInfo // nil when there is nothing, or none of ours
	outside bool        // it lies elsewhere, or is reached through elsewhere
	problem string      // in words
}

// find looks at a path of the directory.
func (in inside) find(path string) found {
	info, err := in.root.Stat(filepath.FromSlash(path))
	if err == nil {
		return found{info: info}
	}
	full := filepath.Join(in.dir, filepath.FromSlash(path))
	info, problem := follow(full)
	if info == nil {
		return found{problem: problem}
	}
	if at, ok := in.resolve(full); ok {
		if _, err := in.root.Stat(at); err != nil { // changed meanwhile
			return found{problem: vanishedOr(err)}
		}
	}
	return found{outside: true} // also one that leads back: what git has says nothing of where that is
}

func vanishedOr(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return plain(err)
}

// findIn is find for a name in a folder that is open. Most names are no links: they are
// looked at without walking the path.
func (in inside) findIn(open *os.Root, folder, name string) found {
	info, err := open.Lstat(name)
	if err != nil {
		return found{problem: vanishedOr(err)}
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return in.find(folder + "/" + name)
	}
	return found{info: info}
}

// resolve returns where in the directory a path ends that may go through
// absolute links, and whether it ends there at all.
func (in inside) resolve(full string) (at string, ok bool) {
	dir, err := filepath.EvalSymlinks(in.dir)
	if err != nil {
		return "", false
	}
	end, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", false
	}
	if at, err = filepath.Rel(dir, end); err != nil || !filepath.IsLocal(at) {
		return "", false
	}
	return at, true
}

package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// largest are the most bytes of what is read into memory as a whole.
var largest = map[string]int64{"config": 1 << 20, ".idx": 1 << 30}

// checkInside refuses the repository of a directory when its files lie elsewhere
// or are none. Somebody else may have made it: a link would bring in what its
// maker cannot read, and a pipe or a device is read for ever. The directory
// itself may be a link, since the user names it.
func checkInside(dir, git string) error {
	if info, err := os.Lstat(git); git != dir && err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return errLink(git)
	}
	for _, name := range []string{"HEAD", "config", "packed-refs", "refs", "objects"} {
		err := filepath.WalkDir(filepath.Join(git, name), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // never there, or packed meanwhile
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			switch {
			case entry.Type()&fs.ModeSymlink != 0:
				return errLink(path)
			case !entry.Type().IsRegular():
				return errNoFile(path)
			}
			if most := largest[cmp.Or(filepath.Ext(path), name)]; most > 0 {
				if info, err := entry.Info(); err == nil && info.Size() > most {
					return fmt.Errorf("%s has %d bytes; it may have at most %d", path, info.Size(), most)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func errLink(path string) error {
	return fmt.Errorf("%s is a symbolic link; an imported repository must hold all of its files itself, as what git clone makes does", path)
}

func errNoFile(path string) error { return fmt.Errorf("%s is no regular file", path) }

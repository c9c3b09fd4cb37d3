package local

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// KeepOutOfGit has git ignore a data directory, which is often made in the
// work tree of an application: it holds keys' digests, the secret that signs
// cursors, and what applications were seen with. A file of that name that is
// there already stays as it is.
func KeepOutOfGit(dir string) error {
	err := filesystem{}.create(filepath.Join(dir, ".gitignore"), []byte("# Made by svc: a data directory is not for git.\n*\n"), 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

package embedded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// FirstKeyName is the file in a data directory that the first key is put into
// where nobody would see it printed.
const FirstKeyName = "first.key"

// keepOutOfGit has git ignore a data directory, which is often made in the
// work tree of an application: it holds keys' digests, the secret that signs
// cursors, and what applications were seen with. A file of that name that is
// there already stays as it is.
func keepOutOfGit(dir string) error {
	err := writeNew(filepath.Join(dir, ".gitignore"), "# Made by svc: a data directory is not for git.\n*\n", 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writeNew writes a file that must not exist, flushed.
func writeNew(path, content string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

package embedded

import (
	"errors"
	"io/fs"
	"os"
)

// FirstKeyName is the file in a data directory that the first key is put into
// where nobody would see it printed.
const FirstKeyName = "first.key"

// writeNew writes a file that must not exist, flushed.
func writeNew(path, content string, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Sync(), f.Close())
}

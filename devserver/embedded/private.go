package embedded

import (
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"svc.example/svc/shared/statedir"
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

// ownName is the file in a data directory by which the user who made it knows it again:
// any words, and their seal.
const ownName = "made-here"

// markOwn notes that this user makes a data directory. Where there is no place for a secret
// nobody does.
func markOwn(dir string) error {
	words := rand.Text()
	seal, err := statedir.Seal(os.Getenv, []byte(words))
	if err != nil {
		return nil
	}
	return writeNew(filepath.Join(dir, ownName), words+" "+seal+"\n", 0o600)
}

// IsOwn reports whether this user has made a data directory on this machine. One that came
// with files has its author's keys and hooks.
func IsOwn(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, ownName))
	words, seal, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	want, wrong := statedir.Seal(os.Getenv, []byte(words))
	return err == nil && wrong == nil && hmac.Equal([]byte(seal), []byte(want))
}

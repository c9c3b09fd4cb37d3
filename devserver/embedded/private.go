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

// ownName is the file in a data directory by which the user who made it knows it again, in
// its place: any words, and their seal.
const ownName = "made-here"

// markOwn notes in a data directory that this user makes it for a place, which is not there
// yet. Where there is no place for a secret nobody does.
func markOwn(dir, place string) error {
	if parent, err := filepath.EvalSymlinks(filepath.Dir(place)); err == nil {
		place = filepath.Join(parent, filepath.Base(place))
	}
	words := rand.Text()
	seal, err := ownSeal(place, words)
	if err != nil {
		return nil
	}
	return writeNew(filepath.Join(dir, ownName), words+" "+seal+"\n", 0o600)
}

// IsOwn reports whether this user has made a data directory on this machine, where it is. One
// that came with files has its author's keys and hooks, even if it has a seal of another one,
// and a link that came with them leads to one that is not meant.
func IsOwn(dir string) bool {
	path := filepath.Join(dir, ownName)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<10 {
		return false
	}
	text, err := os.ReadFile(path)
	words, seal, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	want, wrong := ownSeal(dir, words)
	return err == nil && wrong == nil && hmac.Equal([]byte(seal), []byte(want))
}

func ownSeal(dir, words string) (string, error) {
	return statedir.Seal(os.Getenv, []byte(statedir.Name(dir)+" "+words))
}

// Package statedir finds the folder where svc keeps what concerns nobody but its user on
// this machine: $XDG_STATE_HOME, else the platform's. A secret there, which nobody else can
// read, seals what svc writes elsewhere.
package statedir

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"svc.example/svc/shared/regularfile"
)

// Of is the folder. It need not be there yet.
func Of(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // others do not count, its specification says
		return filepath.Join(dir, "svc"), nil
	}
	variable, below := "HOME", filepath.Join(".local", "state")
	switch runtime.GOOS {
	case "windows":
		variable, below = "LOCALAPPDATA", ""
	case "darwin", "ios":
		below = filepath.Join("Library", "Application Support")
	}
	home := getenv(variable)
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("neither $XDG_STATE_HOME nor $%s is set", variable)
	}
	return filepath.Join(home, below, "svc"), nil
}

// Name is a file name for what belongs to a directory, and to that alone. One that
// symbolic links lead to is the one that they lead to. More tells apart what belongs to
// the same directory.
func Name(dir string, more ...string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	for _, one := range more {
		dir += "\x00" + one
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:len(sum)/2])
}

// Seal is a sum of content that nobody but this user on this machine can make: by it svc
// recognises what it wrote among files that others write too.
func Seal(getenv func(string) string, content []byte) (string, error) {
	secret, err := secret(getenv)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write(content)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

const secretBytes = 32

// secret reads the secret in the folder. It is made when it is first asked for.
func secret(getenv func(string) string) ([]byte, error) {
	dir, err := Of(getenv)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "secret")
	text, err := regularfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeSecret(dir, path); err == nil {
			text, err = regularfile.Read(path)
		}
	}
	if err == nil && len(text) != secretBytes {
		err = fmt.Errorf("%s is damaged; remove it", path)
	}
	return text, err
}

// makeSecret writes a secret, unless another process has just done so.
func makeSecret(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "secret-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	text := make([]byte, secretBytes)
	rand.Read(text) // never fails
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

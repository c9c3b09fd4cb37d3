// Package statedir finds the folder where svc keeps what concerns nobody but its user on
// this machine: $XDG_STATE_HOME, else the platform's.
package statedir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"
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

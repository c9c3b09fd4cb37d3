package standin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Tool finds a program of aws-sam-cli's environment: on the PATH, or where make
// installs it, in this repository.
func Tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.EvalSymlinks(path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		installed := filepath.Join(dir, "infra", "samlocal", ".venv", "bin", name)
		if _, err := os.Stat(installed); err == nil {
			return installed, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is %w: make tools", name, ErrMissing)
		}
	}
}

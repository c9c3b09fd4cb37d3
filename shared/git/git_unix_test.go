//go:build unix

package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

func TestAPipeInARepositoryIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command(testenv.Program(t, "your system's package", "git"), "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	index := filepath.Join(dir, ".git", "index")
	if err := syscall.Mkfifo(index, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), index+" is no file") {
		t.Error(err)
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

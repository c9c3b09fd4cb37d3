//go:build unix

package overrides

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

// TestAPipeAndALinkInThePlaceOfAFile are neither waited for nor followed.
func TestAPipeAndALinkInThePlaceOfAFile(t *testing.T) {
	f := testFile(t)
	dir, elsewhere := filepath.Dir(f.Path), filepath.Join(t.TempDir(), "made")
	must.Do(t, os.MkdirAll(dir, 0o700))
	must.Do(t, syscall.Mkfifo(f.Path, 0o600))
	read := make(chan error, 1)
	go func() {
		_, err := f.Read()
		read <- err
	}()
	select {
	case err := <-read:
		if err == nil || !strings.Contains(err.Error(), "it is no file; svc override clear") {
			t.Errorf("a pipe: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a pipe is waited for")
	}
	must.Do(t, os.Symlink(elsewhere, filepath.Join(dir, "lock")))
	if _, err := f.ClearAll(t.Context()); err == nil || !strings.Contains(err.Error(), "lock is no file but a link") {
		t.Errorf("a lock that is a link: %v", err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a file is made elsewhere")
	}
}

//go:build unix

package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

// TestAPipeInADataDirectoryIsNotWaitedFor: a data directory may have come with files.
func TestAPipeInADataDirectoryIsNotWaitedFor(t *testing.T) {
	for _, name := range []string{ownName, "registry.json", "repository.git/config", "repository.git/svc.config", "repository.git/objects/pack/pack-1.idx"} {
		dir := filepath.Join(t.TempDir(), "data")
		must.Get(Create(t.Context(), dir, Creation{Name: "pipes"}))(t)
		pipe := filepath.Join(dir, filepath.FromSlash(name))
		_ = os.Remove(pipe) // if it is there
		must.Do(t, syscall.Mkfifo(pipe, 0o600))
		done := make(chan string)
		go func() {
			own := IsOwn(dir)
			_, err := Open(t.Context(), dir, Options{})
			if own && name == ownName || err == nil {
				done <- "it is used"
				return
			}
			done <- err.Error()
		}()
		select {
		case said := <-done:
			if !strings.Contains(said, pipe+" is no file") {
				t.Errorf("%s: %s", name, said)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is waited for", name)
		}
	}
}

//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
)

// TestAPipeInARepositoryIsNotWaitedFor: svc backup and svc audit read one that others may
// have made.
func TestAPipeInARepositoryIsNotWaitedFor(t *testing.T) {
	for _, name := range []string{"config", "objects/pack/pack-1.idx"} {
		s := newStore(t)
		pipe := filepath.Join(s.dir, name)
		_ = os.Remove(pipe)   // if it is there
		if name != "config" { // an index counts beside its pack
			must.Do(t, os.WriteFile(strings.TrimSuffix(pipe, ".idx")+".pack", nil, 0o600))
		}
		must.Do(t, syscall.Mkfifo(pipe, 0o600))
		opened := make(chan error, 1)
		go func() {
			_, err := disk.Open(s.dir)
			opened <- err
		}()
		select {
		case <-opened: // a pack without an index that can be read is left out
		case <-time.After(time.Minute):
			t.Errorf("%s is waited for", name)
		}
	}
}

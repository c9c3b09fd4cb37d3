package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// TestWhatAKilledOneLeftIsRemoved by the next one, and nothing else is.
func TestWhatAKilledOneLeftIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows locks no directories")
	}
	dir := filepath.Join(t.TempDir(), "data")
	left := dir + ".unfinished-123"
	kept := []string{dir + ".unfinished-mine", dir + ".unfinished-", dir + "2.unfinished-123"}
	for _, path := range append(kept, left) {
		must.Do(t, os.MkdirAll(filepath.Join(path, "repository.git"), 0o777))
	}
	first, discard, err := Unfinished(dir)
	must.Do(t, err)
	second, discardSecond, err := Unfinished(dir) // while the first is being filled
	must.Do(t, err)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	for _, path := range append(kept, first, second) {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	discardSecond()
	must.Do(t, os.Rename(first, dir))
	discard()
	archive := filepath.Join(filepath.Dir(dir), ".svc.unfinished-123")
	must.Do(t, os.MkdirAll(filepath.Join(archive, "another.tar"), 0o777))
	must.Do(t, Fill(dir+".tar", func(io.Writer, string) error { return nil }))
	for path, want := range map[string]bool{first: false, second: false, dir: true, archive: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

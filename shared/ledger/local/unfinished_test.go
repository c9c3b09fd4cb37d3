package local

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWhatAKilledRestoreLeftIsRemoved by the next one, and nothing else is.
func TestWhatAKilledRestoreLeftIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows locks no directories")
	}
	dir := filepath.Join(t.TempDir(), "data")
	left := dir + ".unfinished-123"
	kept := []string{dir + ".unfinished-mine", dir + ".unfinished-", dir + "2.unfinished-123"}
	for _, path := range append(kept, left) {
		if err := os.MkdirAll(filepath.Join(path, "repository.git"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	first, discard, err := Unfinished(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, discardSecond, err := Unfinished(dir) // while the first is being filled
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	for _, path := range append(kept, first, second) {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	discardSecond()
	if err := Place(first, dir); err != nil {
		t.Fatal(err)
	}
	discard()
	for path, want := range map[string]bool{first: false, second: false, dir: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

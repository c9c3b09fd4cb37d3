package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheBranchIsReadWhenItIsAnotherFile, and only then: by whoever asks, however
// much the new file looks like the one before.
func TestTheBranchIsReadWhenItIsAnotherFile(t *testing.T) {
	read := 0
	l := opened(t, created(t), Options{Step: func(op Operation, path string) error {
		if op == OpRead && strings.HasSuffix(path, branch) {
			read++
		}
		return nil
	}})
	first, second := write(t, l, "a", "1"), write(t, l, "a", "2")
	file := filepath.Join(l.Repository(), filepath.FromSlash(branch))
	for _, test := range []struct {
		name string
		move func()
		head string
	}{
		{"nothing", func() {}, second.SHA},
		{"git", func() { gitIn(t, l.Repository()).run("update-ref", "refs/heads/main", first.SHA) }, first.SHA},
		{"a file of the same size and time", func() {
			before, err := os.Stat(file)
			must(t, err)
			must(t, os.WriteFile(file+".new", []byte(second.SHA+"\n"), 0o644))
			must(t, os.Chtimes(file+".new", time.Time{}, before.ModTime()))
			must(t, os.Rename(file+".new", file))
		}, second.SHA},
		{"packed", func() { gitIn(t, l.Repository()).run("pack-refs", "--all") }, second.SHA},
		{"loose again", func() { gitIn(t, l.Repository()).run("update-ref", "refs/heads/main", first.SHA) }, first.SHA},
	} {
		test.move()
		if got := head(t, l); got.Commit != test.head {
			t.Errorf("%s: %s, want %s", test.name, got.Commit, test.head)
		}
	}
	read = 0
	for range 100 {
		head(t, l)
	}
	if read > 0 {
		t.Errorf("the branch was read %d times while nothing moved it", read)
	}
}

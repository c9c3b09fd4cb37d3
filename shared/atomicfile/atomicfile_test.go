package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"old", "target"} {
		must.Do(t, os.WriteFile(path(name), []byte("old"), 0o640))
	}
	if err := os.Symlink("target", path("link")); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		name string
		mode fs.FileMode
	}{{"old", 0o600}, {"new", 0o604}, {"link", 0o600}} {
		if err := Replace(root, tt.name, []byte("content"), tt.mode); err != nil {
			t.Fatal(tt.name, err)
		}
		text, err := os.ReadFile(path(tt.name))
		info, failed := os.Lstat(path(tt.name))
		if err != nil || failed != nil || string(text) != "content" || info.Mode() != tt.mode && runtime.GOOS != "windows" {
			t.Errorf("%s: %q, %v, %v %v", tt.name, text, info.Mode(), err, failed)
		}
	}
	if text, _ := os.ReadFile(path("target")); string(text) != "old" {
		t.Errorf("the link was followed: %q", text)
	}
	if err := Replace(root, "nowhere/x", nil, 0); err == nil {
		t.Error("a file without a folder is written")
	}
	must.Do(t, os.MkdirAll(path("folder/full"), 0o777))
	if err := Replace(root, "folder", []byte("x"), 0); err == nil {
		t.Error("a folder is replaced")
	}
	if left, err := filepath.Glob(path(".*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

// TestErrorsNameWhatWasAskedFor, and no file that was to take its place.
func TestErrorsNameWhatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "folder/full"), 0o777))
	missing := filepath.Join(dir, "nowhere", "x.tar")
	whole := filepath.Join(dir, "x.tar")
	nothing := func(io.Writer, string) error { return nil }
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no folder":              {Replace(root, "nowhere/x", nil, 0), filepath.FromSlash("nowhere/x")},
		"a folder in its place":  {Replace(root, "folder", nil, 0), "folder"},
		"no folder to fill":      {Fill(missing, nothing), missing},
		"what it is filled with": {Fill(whole, func(io.Writer, string) error { return &fs.PathError{Op: "open", Path: "source", Err: fs.ErrNotExist} }), "source"},
		"a file that is closed": {Fill(whole, func(to io.Writer, beside string) error {
			return &fs.PathError{Op: "write", Path: filepath.Join(beside, "x.tar"), Err: fs.ErrClosed}
		}), whole},
	} {
		if tt.err == nil || strings.Contains(tt.err.Error(), "unfinished") || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
}

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

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestWriteReplacesWhatItWasToldOf(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	put("configs/a.json", "old")
	put("configs/b.json", "old b")
	put("elsewhere.txt", "linked")
	put("configs/kept.json", "kept")
	for link, to := range map[string]string{"configs/in.json": filepath.Join(dir, "elsewhere.txt"), "configs/out.json": filepath.Join(outside, "x"), "configs/away.json": "kept.json"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte("out"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		edits []Edit
		want  error
	}{
		{"another content", []Edit{{Path: "configs/a.json", Was: []byte("other"), Content: []byte("new")}}, ErrChanged},
		{"one of two is another", []Edit{{Path: "configs/a.json", Was: []byte("old"), Content: []byte("new")}, {Path: "configs/b.json", Was: []byte("other"), Content: nil}}, ErrChanged},
		{"a file that is there", []Edit{{Path: "configs/a.json", Was: nil, Content: []byte("new")}}, ErrChanged},
		{"none where there was one", []Edit{{Path: "configs/gone.json", Was: []byte("old"), Content: []byte("new")}}, ErrChanged},
		{"both", []Edit{{Path: "configs/a.json", Was: []byte("old"), Content: []byte("new")}, {Path: "configs/b.json", Was: []byte("old b"), Content: nil}, {Path: "feature-flags/c.json", Was: nil, Content: []byte("c")}}, nil},
		{"away with a link", []Edit{{Path: "configs/away.json", Was: []byte("kept"), Content: nil}}, nil},
		{"behind a link", []Edit{{Path: "configs/in.json", Was: []byte("linked"), Content: []byte("new")}}, nil},
	} {
		if err := Write(t.Context(), dir, tt.edits); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if tt.want != nil {
			if text, _ := os.ReadFile(filepath.Join(dir, "configs/a.json")); string(text) != "old" {
				t.Errorf("%s: %q is written", tt.name, text)
			}
		}
	}
	if err := Write(t.Context(), dir, []Edit{{Path: "configs/out.json", Was: []byte("out"), Content: []byte("new")}}); err == nil {
		t.Error("a link out of the directory is followed")
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "x")); string(text) != "out" {
		t.Errorf("outside there is %q", text)
	}
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			path, _ = filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(path))
		}
		return nil
	})
	if want := []string{"configs/a.json", "configs/in.json", "configs/kept.json", "configs/out.json", "elsewhere.txt", "feature-flags/c.json"}; !slices.Equal(found, want) {
		t.Errorf("there is %q, want %q", found, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "configs/a.json")); err != nil || info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" {
		t.Error(info.Mode(), err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "elsewhere.txt")); string(text) != "new" {
		t.Errorf("behind the link there is %q", text)
	}
}

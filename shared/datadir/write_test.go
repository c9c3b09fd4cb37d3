package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"svc.example/svc/shared/testing/must"
	"testing"
)

func TestWriteReplacesWhatItWasToldOf(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	tree(t, dir, map[string]string{"configs/a.json": "old", "configs/b.json": "old b", "elsewhere.txt": "linked", "configs/kept.json": "kept",
		"configs/in.json": "-> " + filepath.Join(dir, "elsewhere.txt"), "configs/out.json": "-> " + filepath.Join(outside, "x"), "configs/away.json": "-> kept.json"})
	must.Do(t, os.Chmod(filepath.Join(dir, "configs/a.json"), 0o640))
	tree(t, outside, map[string]string{"x": "out"})
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
	const want = `configs/a.json ----------: new
configs/in.json L---------: new
configs/kept.json ----------: kept
configs/out.json L---------: out
elsewhere.txt ----------: new
feature-flags/c.json ----------: c`
	if found := everything(t, dir); found != want {
		t.Errorf("there is\n%s\nwant\n%s", found, want)
	}
	if info, err := os.Stat(filepath.Join(dir, "configs/a.json")); err != nil || info.Mode().Perm() != 0o640 && runtime.GOOS != "windows" {
		t.Error(info.Mode(), err)
	}
}

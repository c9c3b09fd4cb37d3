//go:build unix

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// TestAFileThatMayNotBeWrittenIsNot, whatever its folder allows, and a rename with it.
func TestAFileThatMayNotBeWrittenIsNot(t *testing.T) {
	for name, content := range map[string][]byte{"replaced": []byte("new"), "removed": nil} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.json")
		must.Do(t, os.WriteFile(path, []byte("old"), 0o444))
		for _, force := range []bool{false, true} {
			edits := []Edit{{Path: "b.json", Content: []byte("new")}, {Path: "a.json", Was: []byte("old"), Content: content, Force: force}}
			if err := Write(t.Context(), dir, edits); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "b.json")); err == nil {
			t.Error("one of two is written")
		}
		if text, _ := os.ReadFile(path); string(text) != "old" {
			t.Errorf("%s: there is %q", name, text)
		}
	}
}

// TestWhereLinksLeadNothingIsWritten: not into git's own files, and not out of the directory.
func TestWhereLinksLeadNothingIsWritten(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, ".git", "hooks", "a.json")
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(own), 0o777), os.WriteFile(own, []byte("old"), 0o666),
		os.Symlink(".git/hooks/a.json", filepath.Join(dir, "a.json")), os.Symlink(".git/hooks", filepath.Join(dir, "configs")),
		os.Symlink(t.TempDir(), filepath.Join(dir, "segments")), os.Symlink("nowhere", filepath.Join(dir, "schemas"))))
	for _, edit := range []Edit{{Path: "a.json", Was: []byte("old"), Content: []byte("new")}, {Path: "configs/a.json", Was: []byte("old"), Content: []byte("new")},
		{Path: "configs/made.json", Content: []byte("new")}, {Path: "configs/a.json", Force: true}} {
		if err := Write(t.Context(), dir, []Edit{edit}); !errors.Is(err, ErrGit) {
			t.Errorf("%s: %v", edit.Path, err)
		}
	}
	for _, edit := range []Edit{{Path: "segments/a.json", Content: []byte("new")}, {Path: "segments/a.json", Was: []byte("old")},
		{Path: "segments/a.json", Force: true}, {Path: "schemas/a.json", Content: []byte("new")}} {
		if err := Write(t.Context(), dir, []Edit{edit}); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", edit.Path, err)
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(own))
	if text, _ := os.ReadFile(own); string(text) != "old" || len(entries) != 1 {
		t.Errorf("there is %q of %d", text, len(entries))
	}
}

func TestAFileStaysItsOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give files to others")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	must.Do(t, errors.Join(os.WriteFile(path, []byte("old"), 0o640), os.Chown(path, 1234, 1235)))
	must.Do(t, Write(t.Context(), dir, []Edit{{Path: "a.json", Was: []byte("old"), Content: []byte("new")}}))
	info := must.Get(os.Stat(path))(t)
	if of := info.Sys().(*syscall.Stat_t); of.Uid != 1234 || of.Gid != 1235 || info.Mode().Perm() != 0o640 {
		t.Errorf("it belongs to %d:%d, %v", of.Uid, of.Gid, info.Mode())
	}
}

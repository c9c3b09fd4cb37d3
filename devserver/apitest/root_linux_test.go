package apitest

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/apiload"
)

// TestWhatRootMakesTheServiceCanRead: an administrator makes keys as root in the
// data directory of a service that runs as a user of its own, and restores another
// beside it.
func TestWhatRootMakesTheServiceCanRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file that is another user's")
	}
	const service = 65534
	w := newWorkplace(t, apiload.Fixture(), 1)
	each := func(dir string, do func(path string, entry fs.DirEntry)) {
		t.Helper()
		must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil {
				do(path, entry)
			}
			return err
		}))
	}
	must(t, os.Remove(filepath.Join(w.dir, "history.cache"))) // is made anew, and so are locks
	must(t, os.Remove(filepath.Join(w.dir, "write.lock")))
	each(filepath.Dir(w.dir), func(path string, _ fs.DirEntry) { must(t, os.Chown(path, service, service)) })

	archive, restored := filepath.Join(t.TempDir(), "backup.tar"), filepath.Join(filepath.Dir(w.dir), "restored")
	for _, args := range [][]string{
		{"key", "create", "--kind", "user", "--name", "Ada", "--role", "engineer"},
		{"key", "create", "--kind", "secret", "--name", "relay", "--environment", "production"},
		{"key", "list"},
		{"environment", "add", "qa", "--type", "test"},
		{"audit"},
		{"usage"},
		{"backup", archive},
	} {
		if _, err := command(t.Context(), append(args, "--data", w.dir)...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := command(t.Context(), "restore", archive, "--data", restored); err != nil {
		t.Fatal(err)
	}
	each(filepath.Dir(w.dir), func(path string, entry fs.DirEntry) {
		info, err := entry.Info()
		must(t, err)
		readable := info.Mode().Perm()&0o004 != 0 // what git has is replaced, and never written again
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != service && !readable {
			t.Errorf("%s is %s, of the user %d", path, info.Mode(), owner)
		}
	})
}

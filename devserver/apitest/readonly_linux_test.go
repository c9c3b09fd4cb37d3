package apitest

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/testing/apiload"
)

// TestWhatCannotBeWritten: a server that could not write says so when it is
// started, and not at the first write.
func TestWhatCannotBeWritten(t *testing.T) {
	before := newWorkplace(t, apiload.Fixture(), 0)
	for _, path := range []string{".", "repository.git", "repository.git/objects/pack", "repository.git/refs/heads", "svc.db", "telemetry.db"} {
		t.Run(strings.ReplaceAll(path, "/", " "), func(t *testing.T) {
			w := workplace{dir: filepath.Join(t.TempDir(), "data")}
			must(t, os.CopyFS(w.dir, os.DirFS(before.dir)))
			must(t, os.Chmod(w.dir, 0o700))
			path := filepath.Join(w.dir, path)
			must(t, os.MkdirAll(path, 0o777))
			readOnly(t, path)
			service, err := embedded.Open(background(t), w.dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				must(t, service.Close())
			}
			if err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), "has to be able to write") {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("where it is made", func(t *testing.T) {
		parent := t.TempDir()
		readOnly(t, parent)
		_, err := embedded.Create(background(t), filepath.Join(parent, "data"), embedded.Creation{Name: "shop"})
		if err == nil || !strings.Contains(err.Error(), "making the data directory "+filepath.Join(parent, "data")+": ") {
			t.Errorf("%v", err)
		}
	})
}

// readOnly keeps a directory from being written. Root may write whatever the
// modes say, so that it is mounted.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)) })
	if err := os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600); errors.Is(err, fs.ErrPermission) {
		return
	}
	must(t, os.Remove(filepath.Join(dir, "probe")))
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("root needs to mount a directory to make it read-only: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	must(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

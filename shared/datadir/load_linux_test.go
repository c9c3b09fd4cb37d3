package datadir

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"svc.example/svc/shared/testing/must"
	"syscall"
	"testing"
)

// asNobody runs a function with the rights of nobody in the file system.
// Permissions do not hold root up, so root takes another identity, which on
// Linux one thread can do by itself.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	const nobody = 65534
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		do()
	}()
	<-done
}

func TestLookPermissionDenied(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	tree(t, dir, map[string]string{
		"svc.json": "w", "feature-flags/a.json": "a", "feature-flags/secret.json": "s",
		"configs/b.json": "b", "segments/c.json": "c",
	})
	close := func(path string, mode os.FileMode) {
		t.Helper()
		must.Do(t, os.Chmod(filepath.Join(dir, path), mode))
		t.Cleanup(func() { os.Chmod(filepath.Join(dir, path), 0o755) })
	}
	close("svc.json", 0)
	close("feature-flags/secret.json", 0)
	close("configs", 0)
	close("segments", 0o444) // its names can be read and no more
	asNobody(t, func() {
		checkLook(t, dir, map[string]string{"feature-flags/a.json": "a"}, []string{
			"fatal configs: permission denied: it cannot be read",
			"fatal feature-flags/secret.json: permission denied: it cannot be read",
			"fatal segments: permission denied: it cannot be read",
			"fatal svc.json: permission denied: it cannot be read",
		})
	})
	close(".", 0)
	asNobody(t, func() {
		problems := Look(dir).Problems
		for _, p := range problems {
			if p.Severity.String() != "fatal" || !strings.HasSuffix(p.Message, "permission denied: it cannot be read") {
				t.Errorf("%v", p)
			}
		}
		if len(problems) != 1 {
			t.Errorf("%v", problems)
		}
	})
}

//go:build unix

package regularfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	must(os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600))
	must(os.Symlink("file", filepath.Join(dir, "link")))
	must(os.Symlink("nothing", filepath.Join(dir, "dangling")))
	must(os.Symlink("pipe", filepath.Join(dir, "link-to-pipe")))
	must(os.Symlink("/dev/zero", filepath.Join(dir, "link-to-device")))
	must(os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	must(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for name, want := range map[string]struct {
		read     string // the error of Read, "" for none
		writable bool
	}{
		"file": {"", true}, "link": {"", false}, "dangling": {"no such file", false}, "missing": {"no such file", true}, "folder": {"is a directory", true},
		"pipe": {"it is no file", false}, "link-to-pipe": {"it is no file", false}, "link-to-device": {"it is no file", false},
	} {
		path := filepath.Join(dir, name)
		text, err := Read(path)
		if want.read == "" && (err != nil || string(text) != "text") || want.read != "" && (err == nil || !strings.Contains(err.Error(), path+": "+want.read)) {
			t.Errorf("reading %s: %q, %v", name, text, err)
		}
		if err := Check(path); (err == nil) != want.writable || err != nil && !strings.Contains(err.Error(), path+" is no file but") {
			t.Errorf("writing %s: %v", name, err)
		}
	}
}

package apitest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/apiload"
)

// TestAFullDisk: a write is refused with the reason, a backup fails with it and an earlier
// one stays; nothing is left behind, and reading goes on. Once there is room again, writing
// does too.
func TestAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	before := newWorkplace(t, apiload.Fixture(), 1)
	w := workplace{dir: filepath.Join(disk, "data"), keys: before.keys}
	must(t, os.CopyFS(w.dir, os.DirFS(before.dir)))
	s := &site{workplace: w, t: t, client: apiload.NewHTTPClient(t), bare: gitIn(t, w.repository())}
	s.start()
	t.Cleanup(func() { must(t, s.p.Stop()) })
	const path, on, off = "/v1/flags/redesign/environments/staging", `{"enabled": true}`, `{"enabled": false}`
	s.expect(200, `"changed":true`, "PATCH", path, on)
	archive := filepath.Join(disk, "backup.tar")
	must(t, os.WriteFile(archive, []byte("an earlier backup"), 0o666))
	files := listing(t, disk)

	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	for range 3 {
		s.expect(503, "the disk is full, and nothing was written", "PATCH", path, off)
	}
	s.expect(200, `"redesign"`, "GET", "/v1/flags", "")
	_, err := command(t.Context(), "backup", archive, "--data", w.dir)
	if text, _ := os.ReadFile(archive); err == nil || !strings.Contains(err.Error(), "no space left on device") || string(text) != "an earlier backup" {
		t.Errorf("%v, and the archive is %.100q", err, text)
	}
	must(t, os.Remove(filler))
	if now := listing(t, disk); !slices.Equal(now, files) {
		t.Errorf("there are now\n%s\nand there were\n%s", strings.Join(now, "\n"), strings.Join(files, "\n"))
	}
	s.expect(200, `"changed":true`, "PATCH", path, off)
	s.bare.Sound(t)
}

// fill takes all the room that there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	for _, part := range []int64{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, part))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must(t, f.Close())
}

// listing is the files below a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		found = append(found, strings.TrimPrefix(path, dir))
		return err
	}))
	return found
}

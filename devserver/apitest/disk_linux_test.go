package apitest

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/must"
)

// TestAFullDisk: a write is refused with the reason, a backup fails with it and an earlier
// one stays; nothing is left behind, and reading goes on. Once there is room again, writing
// does too.
func TestAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { must.Do(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	before := newWorkplace(t, apiload.Fixture(), 1)
	w := workplace{dir: filepath.Join(disk, "data"), keys: before.keys}
	must.Do(t, os.CopyFS(w.dir, os.DirFS(before.dir)))
	s := &site{workplace: w, t: t, client: apiload.NewHTTPClient(t), bare: gitIn(t, w.repository())}
	s.start()
	t.Cleanup(func() { must.Do(t, s.p.Stop()) })
	const path, on, off = "/v1/flags/redesign/environments/staging", `{"enabled": true}`, `{"enabled": false}`
	s.expect(200, `"changed":true`, "PATCH", path, on)
	archive := filepath.Join(disk, "backup.tar")
	must.Do(t, os.WriteFile(archive, []byte("an earlier backup"), 0o666))
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
	must.Do(t, os.Remove(filler))
	if now := listing(t, disk); !slices.Equal(now, files) {
		t.Errorf("there are now\n%s\nand there were\n%s", strings.Join(now, "\n"), strings.Join(files, "\n"))
	}
	s.expect(200, `"changed":true`, "PATCH", path, off)
	s.bare.Sound(t)
}

// TestWhatASystemRefuses is told to whoever writes, and writing goes on once it is over.
func TestWhatASystemRefuses(t *testing.T) {
	s := newSite(t)
	s.works(true)
	const path, off = "/v1/flags/redesign/environments/staging", `{"enabled": false}`
	t.Run("a folder that is read-only", func(t *testing.T) {
		readOnly(t, filepath.Join(s.repository(), "refs", "heads"))
		s.expect(503, "and nothing was written", "PATCH", path, off)
	})
	s.works(false)
	s.works(true)
	var limit unix.Rlimit
	must.Do(t, unix.Prlimit(s.p.Process(), unix.RLIMIT_NOFILE, nil, &limit))
	must.Do(t, unix.Prlimit(s.p.Process(), unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}, nil))
	s.expect(503, "can open no more files", "PATCH", path, off)
	must.Do(t, unix.Prlimit(s.p.Process(), unix.RLIMIT_NOFILE, &limit, nil))
	s.works(false)
	s.bare.Sound(t)
}

// fill takes all the room that there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must.Do(t, err)
	for _, part := range []int64{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, part))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	must.Do(t, f.Close())
}

// listing is the files below a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	must.Do(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		found = append(found, strings.TrimPrefix(path, dir))
		return err
	}))
	return found
}

// TestWhatCannotBeWritten: a server that could not write says so when it is
// started, and not at the first write.
func TestWhatCannotBeWritten(t *testing.T) {
	before := newWorkplace(t, apiload.Fixture(), 0)
	for _, path := range []string{".", "repository.git", "repository.git/objects/pack", "repository.git/refs/heads", "svc.db", "telemetry.db"} {
		t.Run(strings.ReplaceAll(path, "/", " "), func(t *testing.T) {
			w := workplace{dir: filepath.Join(t.TempDir(), "data")}
			must.Do(t, os.CopyFS(w.dir, os.DirFS(before.dir)))
			must.Do(t, os.Chmod(w.dir, 0o700))
			path := filepath.Join(w.dir, path)
			must.Do(t, os.MkdirAll(path, 0o777))
			readOnly(t, path)
			service, err := embedded.Open(background(t), w.dir, embedded.Options{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				must.Do(t, service.Close())
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
	must.Do(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { must.Do(t, os.Chmod(dir, 0o700)) })
	if err := os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600); errors.Is(err, fs.ErrPermission) {
		return
	}
	must.Do(t, os.Remove(filepath.Join(dir, "probe")))
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("root needs to mount a directory to make it read-only: %v", err)
	}
	t.Cleanup(func() { must.Do(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	must.Do(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

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
		must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil {
				do(path, entry)
			}
			return err
		}))
	}
	must.Do(t, os.Remove(filepath.Join(w.dir, "history.cache"))) // is made anew, and so are locks
	must.Do(t, os.Remove(filepath.Join(w.dir, "write.lock")))
	each(filepath.Dir(w.dir), func(path string, _ fs.DirEntry) { must.Do(t, os.Chown(path, service, service)) })

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
		must.Get(command(t.Context(), append(args, "--data", w.dir)...))(t)
	}
	must.Get(command(t.Context(), "restore", archive, "--data", restored))(t)
	each(filepath.Dir(w.dir), func(path string, entry fs.DirEntry) {
		info := must.Get(entry.Info())(t)
		readable := info.Mode().Perm()&0o004 != 0 // what git has is replaced, and never written again
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != service && !readable {
			t.Errorf("%s is %s, of the user %d", path, info.Mode(), owner)
		}
	})
}

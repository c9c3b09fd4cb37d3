//go:build unix

package datadir

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// TestLookNoFiles is a folder with things in it that would keep a reader
// waiting for ever.
func TestLookNoFiles(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"configs/a.json": "a", "configs/null.json": "-> /dev/zero"}) // a link out of the directory
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "configs/pipe.json"), 0o644))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "svc.json"), 0o644))
	t.Chdir(dir) // a socket's path has to be short
	socket := must.Get(net.Listen("unix", "configs/socket.json"))(t)
	defer socket.Close()
	checkLook(t, dir, map[string]string{"configs/a.json": "a"}, []string{
		"warning configs/null.json: this is a symbolic link that leads out",
		"warning configs/pipe.json: this is a named pipe, not a file",
		"warning configs/socket.json: this is a socket, not a file",
		"fatal svc.json: this is a named pipe, and the workspace file is expected",
	})
}

// A folder may be a pipe, which nobody writes to.
func TestAPipeInThePlaceOfAFolderIsNotWaitedFor(t *testing.T) {
	for _, folder := range workspace.Folders {
		dir := t.TempDir()
		must.Do(t, syscall.Mkfifo(filepath.Join(dir, string(folder)), 0o644))
		done := make(chan struct{})
		go func() {
			defer close(done)
			Look(dir)
			Overlooked(dir)
			Submodules(dir, nil)
			if lock, err := Lock(t.Context(), dir); err == nil {
				lock.Close()
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s is waited for", folder)
		}
	}
}

// TestBecamePipe is a file that was one when it was listed.
func TestBecamePipe(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"configs/a.json": "a"})
	l := list(dir, maxFiles, time.Now())
	must.Do(t, syscall.Unlink(filepath.Join(dir, "configs/a.json")))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "configs/a.json"), 0o644))
	if state := l.state(State{}, nil); len(state.Files) != 0 || state.Problems != nil {
		t.Errorf("%v, %v", state.Files, state.Problems)
	}
}

// TestGitNoFile: what a .git points to is read from a file alone.
func TestGitNoFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, ".git"), 0o644))
	if gitAtWork(dir, time.Now()) {
		t.Error("a pipe")
	}
	dir = t.TempDir()
	must.Do(t, os.Symlink("/dev/zero", filepath.Join(dir, ".git")))
	if gitAtWork(dir, time.Now()) {
		t.Error("a device")
	}
	dir = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, ".git"), nil, 0o666))
	must.Do(t, os.Truncate(filepath.Join(dir, ".git"), 1<<40))
	if gitAtWork(dir, time.Now()) {
		t.Error("a file without end")
	}
}

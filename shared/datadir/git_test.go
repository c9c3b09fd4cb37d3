package datadir

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// TestGitIsWaitedFor: while git holds its lock, a pause is not the end of a
// checkout.
func TestGitIsWaitedFor(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "app", "our-config")
	tree(t, root, map[string]string{"app/our-config/feature-flags/a.json": "1", ".git/index.lock": "", ".git/HEAD": ""})
	by := byWatching
	by.atMost = 40 * time.Millisecond
	w := start(t, dir, by)
	tree(t, dir, map[string]string{"feature-flags/a.json": "2"})
	select {
	case s := <-w.states:
		t.Fatalf("reported in the middle of a checkout: %v", texts(s.Files))
	case <-time.After(500 * time.Millisecond): // many times what ends a burst
	}
	tree(t, dir, map[string]string{"feature-flags/b.json": "2"})
	must.Do(t, os.Remove(filepath.Join(root, ".git", "index.lock")))
	if s := w.next(); len(s.Files) != 2 {
		t.Errorf("the first report holds %v", texts(s.Files))
	}
}

// TestHowLongGitIsWaitedFor: as long as one file comes after the other. A lock that a
// killed git has left is ignored.
func TestHowLongGitIsWaitedFor(t *testing.T) {
	root := t.TempDir()
	tree(t, root, map[string]string{".git/index.lock": "", ".git/HEAD": ""})
	begun := time.Now()
	for _, tt := range []struct {
		name          string
		latest, after time.Duration // since the checkout began
		want          bool
	}{
		{"another file has just come", 39 * time.Second, 40 * time.Second, true},
		{"no file has come for long", 20 * time.Second, 40 * time.Second, false},
		{"the lock is too old", 69 * time.Second, 70 * time.Second, false},
	} {
		w := &watch{dir: root, deadline: begun.Add(2 * time.Second), latest: begun.Add(tt.latest)}
		if got := w.waitsForGit(begun.Add(tt.after)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestTheLockOfALinkedWorkTree(t *testing.T) {
	git := testenv.Program(t, "install git", "git")
	root := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	run("init", "-q", "main")
	run("-C", "main", "commit", "-q", "--allow-empty", "-m", "x")
	run("-C", "main", "worktree", "add", "-q", "../linked")
	linked := filepath.Join(root, "linked")
	if gitAtWork(linked, time.Now()) {
		t.Error("at work without a lock")
	}
	tree(t, root, map[string]string{"main/.git/worktrees/linked/index.lock": ""})
	if !gitAtWork(linked, time.Now()) {
		t.Error("the lock is not found")
	}
}

package admin

import (
	flags "flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// tree is a repository of a drawn history: edits, deletions, foreign files,
// executables, branches that are merged.
func drawHistory(t testing.TB, r *rapid.T, dir string) {
	git(t, dir, "init", "-q", "-b", "trunk")
	keys := []string{"a", "b", "c"}
	edit := func(n int) {
		key := rapid.SampledFrom(keys).Draw(r, "key")
		path := "feature-flags/" + key + ".json"
		switch rapid.IntRange(0, 5).Draw(r, "edit") {
		case 0:
			_ = os.Remove(filepath.Join(dir, filepath.FromSlash(path)))
		case 1:
			write(t, dir, "docs/note.md", fmt.Sprint(n))
		case 2:
			write(t, dir, "tools/run.sh", fmt.Sprint(n))
			must.Do(t, os.Chmod(filepath.Join(dir, "tools", "run.sh"), 0o777))
		default:
			write(t, dir, path, strings.Replace(flag(key, n%2 == 0), `"tags": []`, fmt.Sprintf(`"tags": ["t%d"]`, n), 1))
		}
	}
	commit := func(n int) {
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", fmt.Sprintf("Commit %d", n), "--date", fmt.Sprintf("2026-01-01T00:00:%02dZ", n%60))
	}
	write(t, dir, "svc.json", declared)
	commit(0)
	for n := range rapid.IntRange(1, 6).Draw(r, "commits") {
		if rapid.IntRange(0, 3).Draw(r, "branch") == 0 {
			git(t, dir, "checkout", "-q", "-b", fmt.Sprint("side", n))
			edit(10 + n)
			commit(10 + n)
			git(t, dir, "checkout", "-q", "trunk")
			edit(20 + n)
			commit(20 + n)
			merge(t, dir, fmt.Sprint("side", n))
			commit(30 + n)
			continue
		}
		edit(n + 1)
		commit(n + 1)
	}
	if rapid.Bool().Draw(r, "packed") {
		git(t, dir, "gc", "-q")
	}
}

// merge begins a merge, conflicts and all: whatever lies there is committed.
func merge(t testing.TB, dir, branch string) {
	testenv.Program(t, "apt-get install git", "git")
	cmd := exec.Command("git", "merge", "-q", "--no-commit", "--no-ff", "-X", "ours", branch)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_NAME=Git User", "GIT_COMMITTER_EMAIL=git@acme.example")
	out, err := cmd.CombinedOutput()
	if _, begun := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); begun != nil {
		t.Fatalf("git merge: %v\n%s", err, out)
	}
}

// TestHistoriesComeAndGoUnchanged: what is imported and exported again is the
// same commits, and in between the index says what git says.
func TestHistoriesComeAndGoUnchanged(t *testing.T) {
	s := newService(t)
	fewer(t, 15) // each runs real git dozens of times
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		from, to := t.TempDir(), filepath.Join(t.TempDir(), "out")
		drawHistory(t, r, from)
		w := s.create(t, fmt.Sprint("w", n), from)
		clean(t, w)
		must.Get(w.Export(ctx, to, nil))(r)
		git(t, to, "fsck", "--strict")
		form := "--format=raw"
		if had, has := git(t, from, "log", form), git(t, to, "log", form); had != has {
			r.Fatalf("exported the history is\n%s\nand was\n%s", has, had)
		}
		if status := git(t, to, "status", "--porcelain"); status != "" {
			r.Fatalf("the work tree differs: %s", status)
		}
		// What is written on top goes out with it.
		s.edit(t, w, 2)
		clean(t, w)
	})
}

// fewer lets rapid check less often, unless it was told how often.
func fewer(t *testing.T, checks int) {
	f := flags.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	must.Do(t, f.Value.Set(strconv.Itoa(checks)))
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

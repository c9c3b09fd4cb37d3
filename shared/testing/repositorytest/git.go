package repositorytest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
)

// git runs real git on the store.
func (w *world) git(args ...string) string {
	w.t.Helper()
	return w.gitIn(w.GitDir, args...)
}

func (w *world) gitIn(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command(w.Git, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Linus", "GIT_AUTHOR_EMAIL=linus@example.com", "GIT_COMMITTER_NAME=Linus", "GIT_COMMITTER_EMAIL=linus@example.com")
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String()
}

// publish lets the branch name the head, for a ledger that keeps its head
// elsewhere.
func (w *world) publish() {
	w.t.Helper()
	w.git("update-ref", "refs/heads/main", w.head().Commit)
}

// fsck lets git check everything. It is content with objects that nothing
// names, as lost races leave them.
func (w *world) fsck() {
	w.t.Helper()
	w.publish()
	if out := w.git("fsck", "--strict", "--full", "--no-dangling"); out != "" {
		w.t.Errorf("git fsck says: %s", out)
	}
}

// testGit makes random commits and compares with a map and with real git.
func testGit(t *testing.T, w *world) {
	random := rand.New(rand.NewPCG(1, 2))
	model := map[string]string{}
	history := map[string][]string{} // newest first
	for i := range 40 {
		changes := randomChanges(random, model)
		head := w.commit(fmt.Sprintf("commit %d\n\nwith a body", i), changes...).Head
		for _, c := range changes {
			history[c.Path] = slices.Insert(history[c.Path], 0, head.Commit)
			if c.Content == nil {
				delete(model, c.Path)
			} else {
				model[c.Path] = string(c.Content)
			}
		}
		w.wantFiles(w.snapshot(), model)
	}
	w.wantSame(w.snapshot(), w.cold())
	w.fsck()
	w.compareWithGit(model, history)
	w.compareWithClone(model)
}

var folders = []string{"feature-flags/", "configs/", "log-levels/", "segments/", "schemas/"}

// randomChanges makes changes that each change something.
func randomChanges(random *rand.Rand, model map[string]string) []repository.Change {
	chosen := map[string]repository.Change{}
	for range 1 + random.IntN(3) {
		path := folders[random.IntN(len(folders))] + string(rune('a'+random.IntN(4))) + ".json"
		if random.IntN(8) == 0 {
			path = "svc.json"
		}
		if _, exists := model[path]; exists && random.IntN(4) == 0 {
			chosen[path] = remove(path)
			continue
		}
		text := fmt.Sprintf("{\n  \"n\": %d\n}\n%s", random.IntN(1_000_000_000), strings.Repeat("line\n", random.IntN(50)))
		chosen[path] = put(path, text)
	}
	return slices.Collect(maps.Values(chosen))
}

func (w *world) compareWithGit(model map[string]string, history map[string][]string) {
	w.t.Helper()
	if listed := w.listing("refs/heads/main"); len(listed) != len(model) {
		w.t.Errorf("git lists %v, want %v", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(model)))
	}
	for path, text := range model {
		if got := w.git("cat-file", "blob", "refs/heads/main:"+path); got != text {
			w.t.Errorf("git has %q at %s, want %q", got, path, text)
		}
	}
	for path, want := range history {
		if log := strings.Fields(w.git("log", "--format=%H", "refs/heads/main", "--", path)); !slices.Equal(log, want) {
			w.t.Errorf("git log of %s is %q, want %q", path, log, want)
		}
		w.wantHistory(repository.Page{Path: path}, want...)
		if patch := w.git("log", "-p", "--format=%s", "refs/heads/main", "--", path); !strings.Contains(patch, "diff --git") {
			w.t.Errorf("git log -p of %s shows nothing: %q", path, patch)
		}
	}
	for _, f := range w.snapshot().Files {
		if got := strings.TrimSpace(w.git("log", "-1", "--format=%H %an %s", "refs/heads/main", "--", f.Path)); got != fmt.Sprintf("%s %s %s", f.Last.SHA, f.Last.Author.Name, strings.Split(f.Last.Message, "\n")[0]) {
			w.t.Errorf("%s was last touched by %s, says git; want %+v", f.Path, got, *f.Last)
		}
	}
}

func (w *world) compareWithClone(model map[string]string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	w.git("clone", "--quiet", "--no-local", "--branch", "main", w.GitDir, dir)
	for path, text := range model {
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path))); err != nil || string(got) != text {
			w.t.Errorf("the clone has %q at %s, %v; want %q", got, path, err, text)
		}
	}
	if status := w.gitIn(dir, "status", "--porcelain"); status != "" {
		w.t.Errorf("the clone is not clean: %s", status)
	}
}

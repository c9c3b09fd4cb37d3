package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/testenv"
)

func TestOfTheCallersVariablesThoseOfItsOwnGitAreLeft(t *testing.T) {
	for variable, kept := range map[string]bool{
		"PATH=/bin": true, "HOME=/h": true, "GITHUB_ACTIONS=true": true, "GIT_EXEC_PATH=/g": true, "GIT_CONFIG_GLOBAL=/c": true,
		"GIT_CONFIG_NOSYSTEM=1": true, "GIT_CONFIG_COUNT=1": true, "GIT_CONFIG_KEY_0=a.b": true, "GIT_CONFIG_VALUE_0=x": true,
		"GIT_DIR=/g": false, "GIT_INDEX_FILE=/i": false, "GIT_OBJECT_DIRECTORY=/o": false, "GIT_NAMESPACE=n": false, "GIT_CONFIG=/c": false,
		"GIT_CONFIG_PARAMETERS='a.b=x'": false, "GIT_SSH_COMMAND=x": false, "GIT_TRACE=1": false, "GIT_EXTERNAL_DIFF=x": false, "GIT_REPLACE_REF_BASE=x": false,
	} {
		if got := slices.Contains(environment([]string{variable}), variable); got != kept {
			t.Errorf("%s is kept: %t", variable, got)
		}
	}
}

// A git that knows nothing of GIT_NO_LAZY_FETCH is kept from fetching by the protocols
// alone, even if a repository defines a helper for a protocol without a name.
func TestNoProtocolIsAllowed(t *testing.T) {
	program := testenv.Program(t, "your system's package", "git")
	for name, config := range map[string]string{
		"ssh": "url = ssh://h/x\n[core]\nsshCommand = touch ran #\n", "ext": "url = ext::touch ran\n[protocol]\nallow = always\n[protocol \"ext\"]\nallow = always\n",
		"no name": "url = ::x\n[alias]\nremote- = !touch ran\n", "a file": "url = .\nuploadpack = touch ran #\n",
	} {
		dir := t.TempDir()
		realgit.Run(t, dir, "init", "-q")
		realgit.Run(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
		text := "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n[remote \"o\"]\npromisor = true\n" + config
		must.Do(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(text), 0o666))
		cmd := exec.Command(program, "cat-file", "-p", strings.Repeat("0", 39)+"1")
		cmd.Dir = dir
		cmd.Env = slices.DeleteFunc(environment(os.Environ()), func(v string) bool { return strings.HasPrefix(v, "GIT_NO_LAZY_FETCH") })
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("%s: it is there: %s", name, out)
		}
		if _, err := os.Lstat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%s: something was run", name)
		}
	}
}

// Whatever a repository asks for: an index of one's own, outside of it, is nothing of its.
func TestAskingWritesNothing(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) { realgit.Run(t, dir, args...) }
	run("init", "-q")
	must.Do(t, os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("*.json ident\n"), 0o666))
	run("add", "-A")
	run("commit", "-q", "-m", "x")
	for _, setting := range []string{"core.splitIndex", "core.untrackedCache", "core.fsmonitor", "index.recordEndOfIndexEntries"} {
		run("config", setting, "true")
	}
	run("config", "splitIndex.sharedIndexExpire", "now")
	must.Do(t, os.WriteFile(filepath.Join(dir, ".git", "sharedindex."+strings.Repeat("0", 40)), []byte("x"), 0o666))
	files := func() (all []string) {
		must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			info, err := entry.Info()
			all = append(all, fmt.Sprint(path, info.ModTime()))
			return err
		}))
		return all
	}
	before := files()
	r := must.Get(Open(t.Context(), dir))(t)
	must.Get(r.Attributes(t.Context(), "HEAD", map[string]string{"a.json": "a.json"}))(t)
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

func TestWhatGitAdvises(t *testing.T) {
	const said = "fatal: detected dubious ownership in repository at '/w'\nTo add an exception for this directory, call:\n\n\tgit config --global --add safe.directory /w"
	if got := inWords(said).Error(); got != "detected dubious ownership in repository at '/w': another user owns it; if you trust what is in it: git config --global --add safe.directory /w" {
		t.Error(got)
	}
	if got := inWords("fatal: unknown repository extensions found:\n\tfoo\n\tbar").Error(); got != "unknown repository extensions found: foo bar" {
		t.Error(got)
	}
	if got := inWords("warning: lazy fetching disabled\nfatal: not a tree object\x1b").Error(); got != `not a tree object\u001b` {
		t.Error(got)
	}
}

func TestSettingsAreThoseOfTheRepositoryOrTheCaller(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	must.Do(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = Ada\n"), 0o666))
	realgit.Run(t, dir, "init", "-q", "--bare")
	realgit.Run(t, dir, "--git-dir", dir, "config", "user.name", "of plain files")
	if got := Setting(t.Context(), dir, "user.name"); got != "Ada" {
		t.Errorf("beside a bare repository: %q", got)
	}
	realgit.Run(t, dir, "--git-dir", filepath.Join(dir, ".git"), "init", "-q")
	realgit.Run(t, dir, "--git-dir", filepath.Join(dir, ".git"), "config", "user.name", "Grace")
	if got := Setting(t.Context(), dir, "user.name"); got != "Grace" {
		t.Errorf("in a repository: %q", got)
	}
}

// TestAskingWritesNoObjects: neither for a folder that is called as attributes are, nor for
// the trees that a sparse index stands for.
func TestAskingWritesNoObjects(t *testing.T) {
	for name, where := range map[string]string{"plain": "repository", "a colon": `a:b "c\`} {
		if runtime.GOOS == "windows" && where != "repository" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), where)
			run := func(args ...string) { realgit.Run(t, dir, args...) }
			for _, file := range []string{".gitattributes/x", "in/.gitattributes", "in/a.json", "out/b.json"} {
				at := filepath.Join(dir, filepath.FromSlash(file))
				must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.WriteFile(at, []byte("*.json ident\n"), 0o666)))
			}
			run("init", "-q")
			run("add", "-A")
			run("commit", "-q", "-m", "x")
			run("sparse-checkout", "set", "--cone", "--sparse-index", "in")
			must.Do(t, os.WriteFile(filepath.Join(dir, "in", "a.json"), []byte("staged"), 0o666))
			run("add", "in")
			objects := func() []string {
				return must.Get(filepath.Glob(filepath.Join(escaped(dir), ".git", "objects", "*", "*")))(t)
			}
			before := objects()
			r := must.Get(Open(t.Context(), dir))(t)
			found := must.Get(r.Attributes(t.Context(), "HEAD", map[string]string{"in/a.json": "in/a.json"}))(t)
			must.Get(r.Submodules(t.Context()))(t)
			must.Get(r.Run(t.Context(), nil, "ls-files", "-t", "-z"))(t)
			if after := objects(); len(before) == 0 || !slices.Equal(before, after) {
				t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			if found["in/a.json"]["ident"] != "set" {
				t.Errorf("the attributes are %v", found)
			}
		})
	}
}

// escaped is a path as filepath.Glob takes it.
func escaped(path string) string { return strings.ReplaceAll(path, `\`, `\\`) }

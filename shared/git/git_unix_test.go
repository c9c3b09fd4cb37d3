//go:build unix

package git

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

func TestAPipeInARepositoryIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	realgit.Run(t, dir, "init", "-q")
	for _, name := range []string{".git/index", ".git/config", ".git/packed-refs", ".git/refs/heads/main", ".git/info/attributes", ".gitattributes", "sub/.gitattributes"} {
		pipe := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), os.Rename(pipe, pipe+".away")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		must.Do(t, syscall.Mkfifo(pipe, 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r, err := Open(ctx, dir)
		if err == nil {
			_, err = r.Attributes(ctx, "", map[string]string{"a.json": "sub/a.json"})
		}
		cancel()
		if err == nil || !strings.Contains(err.Error(), pipe+" is no file") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Rename(pipe+".away", pipe); errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(pipe)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	r := must.Get(Open(t.Context(), dir))(t)
	if _, err := r.Attributes(t.Context(), "", map[string]string{"a.json": "sub/a.json"}); err != nil {
		t.Error(err)
	}
}

// TestWhatGitWouldReadWithoutEndIsRefused: pipes, devices and files that are too large, in
// whatever a repository has git read. Each row makes a repository, and returns the file that
// is told.
func TestWhatGitWouldReadWithoutEndIsRefused(t *testing.T) {
	type repository struct{ top, beside string }
	write := func(name, text string) {
		t.Helper()
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)))
	}
	pipe := func(name string) string {
		t.Helper()
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.RemoveAll(name), syscall.Mkfifo(name, 0o600)))
		return name
	}
	large := func(name string, size int64) string {
		t.Helper()
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o777))
		f := must.Get(os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o666))(t)
		must.Do(t, errors.Join(f.Truncate(size), f.Close()))
		return name
	}
	config := func(r repository, text string) { write(filepath.Join(r.top, ".git", "config"), text) }
	for name, spoil := range map[string]func(r repository) string{
		"an included pipe": func(r repository) string {
			config(r, "[include]\npath = ../../beside/pipe\n")
			return pipe(filepath.Join(r.beside, "pipe"))
		},
		"an included device": func(r repository) string {
			config(r, "[include]\npath = /dev/zero\n")
			return "/dev/zero"
		},
		"an included terminal": func(r repository) string {
			config(r, "[include]\npath = /dev/tty\n")
			return "/dev/tty"
		},
		"a large file that is included": func(r repository) string {
			config(r, "[include]\npath = "+filepath.Join(r.beside, "large")+"\n")
			return large(filepath.Join(r.beside, "large"), 8<<30)
		},
		"included by what is included, on a condition": func(r repository) string {
			write(filepath.Join(r.beside, "more"), "[includeIf \"gitdir:/**\"]\npath = pipe\n")
			config(r, "[INCLUDE]\n\tPath = \"../../beside/mo\\\nre\" ; a comment\n")
			return pipe(filepath.Join(r.beside, "pipe"))
		},
		"included from home": func(r repository) string {
			t.Setenv("HOME", r.beside)
			config(r, "[include]\npath = ~/pipe\n")
			return pipe(filepath.Join(r.beside, "pipe"))
		},
		"included through a link": func(r repository) string {
			write(filepath.Join(r.beside, "in", "x"), "")
			must.Do(t, os.Symlink(filepath.Join(r.beside, "in"), filepath.Join(r.top, ".git", "link")))
			config(r, "[include]\npath = link/../pipe\n")
			return pipe(filepath.Join(r.beside, "pipe"))
		},
		"settings of the work tree": func(r repository) string {
			config(r, "[core]\nrepositoryFormatVersion = 1\n[extensions]\nworktreeConfig = true\n")
			write(filepath.Join(r.top, ".git", "config.worktree"), "[include]\npath = ../pipe\n")
			return pipe(filepath.Join(r.top, "pipe"))
		},
		"attributes that are a pipe": func(r repository) string {
			config(r, "[core]\nattributesFile = pipe\n")
			return pipe(filepath.Join(r.top, "pipe"))
		},
		"attributes that are a device": func(r repository) string {
			config(r, "[core]\nattributesFile = /dev/zero\n")
			return "/dev/zero"
		},
		"objects lent by who borrows a pipe": func(r repository) string {
			write(filepath.Join(r.top, ".git", "objects", "info", "alternates"), "# a comment\n\"../../../beside/\\154ent\"\n")
			write(filepath.Join(r.beside, "lent", "info", "alternates"), filepath.Join(r.beside, "further")+"\n")
			return pipe(filepath.Join(r.beside, "further", "pack", "pack-"+strings.Repeat("0", 40)+".idx"))
		},
		"lent objects whose list is a pipe": func(r repository) string {
			write(filepath.Join(r.top, ".git", "objects", "info", "alternates"), filepath.Join(r.beside, "lent")+"\n")
			return pipe(filepath.Join(r.beside, "lent", "info", "alternates"))
		},
		"a linked work tree": func(r repository) string {
			realgit.Run(t, r.top, "worktree", "add", "-q", "--detach", filepath.Join(r.beside, "linked"))
			must.Do(t, os.RemoveAll(filepath.Join(r.beside, "linked", ".git")))
			must.Do(t, errors.Join(os.Rename(filepath.Join(r.top, ".git"), filepath.Join(r.beside, "git"))))
			write(filepath.Join(r.top, ".git"), "gitdir: ../beside/git/worktrees/linked\n")
			return pipe(filepath.Join(r.beside, "git", "packed-refs"))
		},
		"what a linked work tree shares": func(r repository) string {
			must.Do(t, os.Rename(filepath.Join(r.top, ".git"), filepath.Join(r.beside, "git")))
			write(filepath.Join(r.top, ".git"), "gitdir: "+filepath.Join(r.beside, "git")+"\n")
			return pipe(filepath.Join(r.beside, "git", "commondir"))
		},
		"folders that are links": func(r repository) string {
			must.Do(t, errors.Join(os.RemoveAll(filepath.Join(r.top, ".git", "info")), os.Symlink(r.beside, filepath.Join(r.top, ".git", "info"))))
			return pipe(filepath.Join(r.beside, "attributes"))
		},
		"references that lead around": func(r repository) string {
			main := filepath.Join(r.top, ".git", "refs", "tags", "v1")
			must.Do(t, errors.Join(os.Mkdir(main, 0o777), os.Symlink(".", filepath.Join(main, "a")), os.Symlink(".", filepath.Join(main, "b"))))
			return filepath.Join(main, "a")
		},
		"attributes of the work tree": func(r repository) string { return large(filepath.Join(r.top, ".gitattributes"), 8<<30) },
		"a repository around it": func(r repository) string {
			realgit.Run(t, filepath.Dir(r.top), "init", "-q")
			return pipe(filepath.Join(filepath.Dir(r.top), ".git", "index"))
		},
		"large: .git": func(r repository) string {
			must.Do(t, os.RemoveAll(filepath.Join(r.top, ".git")))
			return large(filepath.Join(r.top, ".git"), 8<<30)
		},
		"large: HEAD":        func(r repository) string { return large(filepath.Join(r.top, ".git", "HEAD"), 8<<30) },
		"large: config":      func(r repository) string { return large(filepath.Join(r.top, ".git", "config"), 8<<30) },
		"large: commondir":   func(r repository) string { return large(filepath.Join(r.top, ".git", "commondir"), 8<<30) },
		"large: index":       func(r repository) string { return large(filepath.Join(r.top, ".git", "index"), 8<<30) },
		"large: packed-refs": func(r repository) string { return large(filepath.Join(r.top, ".git", "packed-refs"), 8<<30) },
		"large: shallow":     func(r repository) string { return large(filepath.Join(r.top, ".git", "shallow"), 8<<30) },
		"large: a branch":    func(r repository) string { return large(filepath.Join(r.top, ".git", "refs", "heads", "x"), 8<<30) },
		"large: attributes":  func(r repository) string { return large(filepath.Join(r.top, ".git", "info", "attributes"), 8<<30) },
		"large: exclude":     func(r repository) string { return large(filepath.Join(r.top, ".git", "info", "exclude"), 8<<30) },
		"large: who lends objects": func(r repository) string {
			return large(filepath.Join(r.top, ".git", "objects", "info", "alternates"), 8<<30)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			r := repository{filepath.Join(dir, "top"), filepath.Join(dir, "beside")}
			must.Do(t, errors.Join(os.Mkdir(r.top, 0o777), os.Mkdir(r.beside, 0o777)))
			realgit.Run(t, r.top, "init", "-q")
			realgit.Run(t, r.top, "commit", "-q", "--allow-empty", "-m", "x")
			told := spoil(r)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			opened, err := Open(ctx, r.top)
			if err == nil {
				_, err = opened.Attributes(ctx, "", map[string]string{"a.json": "a.json"})
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Base(told)+" is no file") && !strings.Contains(err.Error(), told+" is a link to a folder") && !strings.Contains(err.Error(), told+" has 8589934592 bytes") {
				t.Errorf("%v, and %s is meant", err, told)
			}
			if got := Setting(ctx, r.top, "user.name"); strings.HasPrefix(name, "an included") && got != "" {
				t.Errorf("the user is called %q", got)
			}
		})
	}
}

// TestWhatAConfigurationNamesIsReadOrNotAsked: files that are there count, and what git opens
// for no command of svc is no matter.
func TestWhatAConfigurationNamesIsReadOrNotAsked(t *testing.T) {
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	realgit.Run(t, dir, "init", "-q")
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	files := map[string]string{
		".git/config": "[include]\npath = ../more\npath = missing\npath = ../more\n[core]\nattributesFile = attributes\nexcludesFile = pipe\nworktree = /dev/zero\n" +
			"[mailmap]\nfile = pipe\n[commit]\ntemplate = pipe\n",
		"more":       "[user]\nname = Ada\n",
		"attributes": "*.json ident\n",
	}
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	t.Chdir(filepath.Join(dir, ".git")) // a socket's path is short
	monitor := must.Get(net.Listen("unix", "ipc"))(t)
	defer monitor.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := must.Get(Open(ctx, dir))(t)
	if got := r.Setting(ctx, "user.name"); got != "Ada" {
		t.Errorf("the user is called %q", got)
	}
	found := must.Get(r.Attributes(ctx, "", map[string]string{"a.json": "a.json"}))(t)
	must.Get(r.Submodules(ctx))(t)
	if found["a.json"]["ident"] != "set" {
		t.Errorf("the attributes are %v", found)
	}
}

func TestWhatGitTakesAndSaysIsBounded(t *testing.T) {
	defer func(was int) { mostAtOnce = was }(mostAtOnce)
	mostAtOnce = 4 << 20
	dir := t.TempDir()
	realgit.Run(t, dir, "init", "-q")
	must.Do(t, os.WriteFile(filepath.Join(dir, ".gitattributes"), make([]byte, 8<<20), 0o666))
	realgit.Run(t, dir, "add", ".")
	realgit.Run(t, dir, "commit", "-q", "-m", "x")
	r := must.Get(Open(t.Context(), dir))(t)
	if _, err := r.Attributes(t.Context(), "HEAD", map[string]string{"a": "a"}); err == nil || !strings.Contains(err.Error(), "over limit 4194304") {
		t.Errorf("a large object: %v", err)
	}
	for names, want := range map[int]string{100: "", 1 << 20: "git has more to say of the repository than 4194304 bytes"} {
		_, err := r.Run(t.Context(), strings.NewReader(strings.Repeat("a\n", names/2)), "check-attr", "--stdin", "text")
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%d bytes of names: %v", names, err)
		}
	}
}

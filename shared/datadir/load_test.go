package datadir

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/workspace"
)

// texts are files as the tests write them down.
func texts(files map[string][]byte) map[string]string {
	out := map[string]string{}
	for path, text := range files {
		out[path] = string(text)
	}
	return out
}

// lines are problems as the tests write them down.
func lines(problems []workspace.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Severity.String()+" "+p.File+": "+p.Message)
	}
	return out
}

func TestLook(t *testing.T) {
	big := strings.Repeat("x", document.MaxSize)
	whole := map[string]string{
		"svc.json": "w", "feature-flags/a.json": "a", "configs/b.json": "b", "log-levels/log-level.c.json": "c",
		"segments/d.json": "d", "schemas/e.json": "e",
	}
	for _, tt := range []struct {
		name     string
		files    map[string]string
		want     map[string]string
		problems []string // the beginning of each
	}{
		{name: "every folder", files: whole, want: whole},
		{name: "what is no part of the layout", files: map[string]string{
			"svc.json": "w", "README.md": "no", "other.json": "no", "flags/a.json": "no",
			"feature-flags/a.json": "a", "feature-flags/a.txt": "no", "feature-flags/.a.json": "no",
			"feature-flags/.json": "no", "feature-flags/a.json~": "no", "feature-flags/sub/a.json": "no",
			"feature-flags/folder.json/": "", "configs/linked.json": "-> ../flags",
		}, want: map[string]string{"svc.json": "w", "feature-flags/a.json": "a"}},
		{name: "empty", problems: []string{"warning .: this does not look like a config directory: it has no svc.json and none of the folders feature-flags, configs, log-levels, segments, schemas; `svc init` creates one"}},
		{name: "something else", files: map[string]string{"package.json": "{}", "src/a.json": "{}"}, problems: []string{"warning .: this does not look like"}},
		{name: "one empty folder", files: map[string]string{"configs/": ""}},
		{name: "links", files: map[string]string{
			"real/w": "w", "real/flags/a.json": "a", "real/b": "b",
			"svc.json": "-> real/w", "feature-flags": "-> real/flags", "configs/b.json": "-> ../real/b",
		}, want: map[string]string{"svc.json": "w", "feature-flags/a.json": "a", "configs/b.json": "b"}},
		{name: "links that stay in the directory, by a long way", files: map[string]string{
			"real/a": "a", "one": "-> two", "two": "-> real", "feature-flags/a.json": "-> ../one/a",
			"configs": "-> real/configs", "real/configs/c.json": "c", "real/configs/d.json": "-> ../a",
		}, want: map[string]string{"feature-flags/a.json": "a", "configs/c.json": "c", "configs/d.json": "a"}},
		{name: "links that lead out and back, which git has no way to follow", files: map[string]string{
			"real/a": "a", "feature-flags/b.json": "-> $DIR/real/a", "segments": "-> $DIR/real", "configs/c.json": "c",
		}, want: map[string]string{"configs/c.json": "c"}, problems: []string{
			"warning feature-flags/b.json: this is a symbolic link that leads out",
			"warning segments: this is a symbolic link that leads out",
		}},
		{name: "links that lead out", files: map[string]string{
			"svc.json": "-> /etc/passwd", "feature-flags/a.json": "-> /etc/passwd", "feature-flags/b.json": "b", "configs": "-> /etc",
			"real/up": "-> ../..", "segments/c.json": "-> ../../../../../../../../../../../../etc/passwd", "segments/d.json": "-> ../real/up", "schemas/e.json": "-> ../real/twice",
			"real/twice": "-> /etc/passwd",
		}, want: map[string]string{"feature-flags/b.json": "b"}, problems: []string{
			"warning configs: this is a symbolic link that leads out of the config directory: it is left out",
			"warning feature-flags/a.json: this is a symbolic link that leads out",
			"warning schemas/e.json: this is a symbolic link that leads out",
			"warning segments/c.json: this is a symbolic link that leads out",
			"warning segments/d.json: this is a symbolic link that leads out",
			"warning svc.json: this is a symbolic link that leads out",
		}},
		{name: "links that lead nowhere", files: map[string]string{
			"svc.json": "-> nope", "feature-flags": "-> nope", "configs/b.json": "-> nope", "configs/.#b.json": "-> user@host.1",
			"segments/c.json": "-> c.json",
		}, problems: []string{
			"fatal configs/b.json: this is a symbolic link to nope, which does not exist",
			"fatal feature-flags: this is a symbolic link to nope, which does not exist",
			"fatal segments/c.json: its symbolic links lead round in a circle",
			"fatal svc.json: this is a symbolic link to nope, which does not exist",
		}},
		{name: "files and folders in each other's place", files: map[string]string{"svc.json/": "", "configs": "x"}, problems: []string{
			"fatal configs: this is a file, and a folder is expected",
			"fatal svc.json: this is a folder, and the workspace file is expected",
		}},
		{name: "as large as may be", files: map[string]string{
			"configs/fits.json": big, "configs/marked.json": "\xef\xbb\xbf" + big, "configs/over.json": "1234" + big,
		}, want: map[string]string{"configs/fits.json": big, "configs/marked.json": "\xef\xbb\xbf" + big},
			problems: []string{"fatal configs/over.json: 1048580 bytes; a file may have at most 1048576"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for path, content := range tt.files {
				tt.files[path] = strings.ReplaceAll(content, "$DIR", dir)
			}
			tree(t, dir, tt.files)
			checkLook(t, dir, tt.want, tt.problems)
		})
	}
}

// checkLook holds what a look finds against files, and the beginnings of problems.
func checkLook(t *testing.T, dir string, files map[string]string, problems []string) {
	t.Helper()
	state := Look(dir)
	if got := texts(state.Files); !maps.Equal(got, files) {
		t.Errorf("the files are %v", slices.Sorted(maps.Keys(got)))
	}
	checkProblems(t, state.Problems, problems)
}

func checkProblems(t *testing.T, problems []workspace.Problem, want []string) {
	t.Helper()
	if got := lines(problems); !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLookNoDirectory(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"file": "x", "link": "-> nope"})
	for name, want := range map[string]string{
		"absent": "fatal .: the config directory " + dir + "/absent is gone",
		"file":   "fatal .: the config directory " + dir + "/file is a file",
		"file/x": "fatal .: the config directory " + dir + "/file/x: it cannot be read: not a directory",
		"link":   "fatal .: the config directory " + dir + "/link: this is a symbolic link to nope",
	} {
		checkLook(t, filepath.Join(dir, name), nil, []string{want})
	}
}

// TestLookHuge is a file that could not be read into memory at all.
func TestLookHuge(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"configs/huge.json": ""})
	must.Do(t, os.Truncate(filepath.Join(dir, "configs/huge.json"), 1<<40))
	checkLook(t, dir, nil, []string{"fatal configs/huge.json: 1099511627776 bytes; a file may have at most 1048576"})
}

// TestReadAllGrowing is a file that has more in it than its size said.
func TestReadAllGrowing(t *testing.T) {
	if text, err := readAll(strings.NewReader(strings.Repeat("x", 5000)), 0); err != nil || len(text) != 5000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	endless := endlessReader{}
	if _, err := readAll(endless, 10); err == nil || !strings.Contains(err.Error(), "may have at most") {
		t.Errorf("an endless file: %v", err)
	}
	if _, err := readAll(iotest.ErrReader(fs.ErrPermission), 10); plain(err) != "permission denied: it cannot be read" {
		t.Errorf("a failing read: %v", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

func TestTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		tree(t, dir, map[string]string{
			fmt.Sprintf("feature-flags/f%d.json", i): "x", fmt.Sprintf("configs/c%d.json", i): "x", fmt.Sprintf("configs/c%d.txt", i): "x",
		})
	}
	if l := list(dir, 20, time.Now()); len(l.entries) != 20 || l.problems != nil {
		t.Errorf("20 files of 20: %d, %v", len(l.entries), l.problems)
	}
	l := list(dir, 19, time.Now())
	if len(l.entries) != 10 {
		t.Errorf("the first folder's 10 files, not %d", len(l.entries))
	}
	checkProblems(t, l.problems, []string{"fatal configs: with this folder there are more than 19 files"})
}

// TestBecameALinkOut is a file that was one when it was listed.
func TestBecameALinkOut(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"conf/configs/a.json": "a", "conf/configs/b.json": "b", "conf/configs/gone.json": "c", "conf/configs/folder.json": "d", "conf/segments/c.json": "c", "far/c.json": "secret"})
	l := list(filepath.Join(dir, "conf"), maxFiles, time.Now())
	must.Do(t, os.Remove(filepath.Join(dir, "conf/configs/b.json")))
	must.Do(t, os.RemoveAll(filepath.Join(dir, "conf/segments")))
	must.Do(t, os.Remove(filepath.Join(dir, "conf/configs/gone.json")))
	must.Do(t, os.Remove(filepath.Join(dir, "conf/configs/folder.json")))
	tree(t, dir, map[string]string{"conf/configs/b.json": "-> ../../far/c.json", "conf/segments": "-> ../far", "conf/configs/folder.json/": ""})
	files := l.state(State{}, nil).Files
	if want := map[string]string{"configs/a.json": "a"}; !maps.Equal(texts(files), want) {
		t.Errorf("%v", texts(files))
	}
}

func TestListingSame(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"longer":   func(t *testing.T, path string) { must.Do(t, os.WriteFile(path, []byte("longer"), 0o644)) },
		"its time": func(t *testing.T, path string) { must.Do(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0))) },
		"its mode": func(t *testing.T, path string) { must.Do(t, os.Chmod(path, 0o600)) },
		"gone":     func(t *testing.T, path string) { must.Do(t, os.Remove(path)) },
		"another": func(t *testing.T, path string) {
			info := must.Get(os.Stat(path))(t)
			must.Do(t, os.WriteFile(path+"~", []byte("a"), 0o644))
			must.Do(t, os.Chtimes(path+"~", time.Time{}, info.ModTime()))
			must.Do(t, os.Rename(path+"~", path))
		},
		"one more":           func(t *testing.T, path string) { must.Do(t, os.WriteFile(path+".json", nil, 0o644)) },
		"a circle next door": func(t *testing.T, path string) { must.Do(t, os.Symlink("b.json", filepath.Dir(path)+"/b.json")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tree(t, dir, map[string]string{"configs/a.json": "a"})
			before := list(dir, maxFiles, time.Now())
			if !before.same(list(dir, maxFiles, time.Now())) {
				t.Error("nothing changed, and the listings differ")
			}
			change(t, filepath.Join(dir, "configs/a.json"))
			if before.same(list(dir, maxFiles, time.Now())) {
				t.Error("the listings do not differ")
			}
		})
	}
}

func TestUnsettled(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"configs/a.json": "a"})
	now := time.Now()
	for age, want := range map[time.Duration]bool{0: true, time.Second: true, time.Minute: false, -time.Minute: false} {
		must.Do(t, os.Chtimes(filepath.Join(dir, "configs/a.json"), time.Time{}, now.Add(-age)))
		if got := !list(dir, maxFiles, now).entries[0].settled(); got != want {
			t.Errorf("written %v ago: unsettled %v", age, got)
		}
	}
}

func TestVersion(t *testing.T) {
	version := func(pairs ...string) string {
		files := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			files[pairs[i]] = []byte(pairs[i+1])
		}
		return Version(files)
	}
	if got := version(); !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(got) {
		t.Errorf("version %q", got)
	}
	if version("a", "1", "b", "2") != version("b", "2", "a", "1") {
		t.Error("the order matters")
	}
	// A version that went to a client must not change with a new build.
	if got := version("configs/a.json", "{}\n"); got != "d19977aa6acdc296a738b4f762eed10368e09c1a" {
		t.Errorf("version of a fixed content: %s", got)
	}
	seen := map[string]int{}
	for i, v := range []string{
		version(), version("", ""), version("a", ""), version("a", "1"), version("a", "2"), version("b", "1"), version("a1", ""),
		version("a", "1", "b", "2"), version("a", "2", "b", "1"), version("a", "1b2"), version("a", "1 1 b 1 2"),
	} {
		if j, taken := seen[v]; taken {
			t.Errorf("contents %d and %d have one version", i, j)
		}
		seen[v] = i
	}
}

// tree lays out files under dir: a path with forward slashes to its content.
// A path that ends in a slash is a directory, and "-> target" as the content
// makes a symbolic link.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch target, isLink := strings.CutPrefix(text, "-> "); {
		case strings.HasSuffix(path, "/"):
			must.Do(t, os.MkdirAll(full, 0o755))
		case isLink:
			must.Do(t, os.Symlink(filepath.FromSlash(target), full))
		default:
			must.Do(t, os.WriteFile(full, []byte(text), 0o644))
		}
	}
}

// realTempDir is a temporary directory without symbolic links in its path.
func realTempDir(t *testing.T) string {
	t.Helper()
	return must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
}

func TestDiscover(t *testing.T) {
	for _, tt := range []struct {
		name      string
		files     map[string]string
		flag, env string
		want      string // in the working directory
		err       []string
	}{
		{name: "the flag wins", files: map[string]string{"given/": "", "our-config/": "", ".svc/": "", "env/": ""}, flag: "given", env: "env", want: "given"},
		{name: "our-config", files: map[string]string{"our-config/": "", ".svc/": "", "env/": ""}, env: "env", want: "our-config"},
		{name: "hidden", files: map[string]string{".svc/": "", "env/": ""}, env: "env", want: ".svc"},
		{name: "the variable", files: map[string]string{"env/": ""}, env: "env", want: "env"},
		{name: "a link to a directory", files: map[string]string{"real/": "", "our-config": "-> real"}, want: "our-config"},
		{name: "a link to elsewhere", files: map[string]string{".svc": "-> ..", "env/": ""}, env: "env", err: []string{"./.svc", "leads from it to", "--datadir"}},
		{name: "a path that climbs", files: map[string]string{"given/": ""}, flag: "given/../given/.", want: "given"},
		{name: "nothing", err: []string{"./our-config", "./.svc", "SVC_DIR is not set", "--datadir", "svc init"}},
		{name: "the flag names nothing", files: map[string]string{"our-config/": ""}, flag: "nope", err: []string{"--datadir nope", "there is no directory", "svc init nope"}},
		{name: "the flag names a file", files: map[string]string{"f": "x", "our-config/": ""}, flag: "f", err: []string{"--datadir f", "is a file"}},
		{name: "the flag names a link to nothing", files: map[string]string{"l": "-> nowhere"}, flag: "l", err: []string{"--datadir l", "link to nowhere, which does not exist"}},
		{name: "the flag names what is below a file", files: map[string]string{"f": "x"}, flag: "f/g", err: []string{"--datadir f/g", "not a directory"}},
		{name: "the variable names nothing", env: "nope", err: []string{"SVC_DIR nope", "there is no directory"}},
		{name: "the variable names a file", files: map[string]string{"f": "x"}, env: "f", err: []string{"SVC_DIR f", "is a file"}},
		{name: "our-config is a file", files: map[string]string{"our-config": "x", ".svc/": "", "env/": ""}, env: "env", err: []string{"./our-config", "is a file", "--datadir"}},
		{name: "our-config is a link to nothing", files: map[string]string{"our-config": "-> nowhere", ".svc/": ""}, err: []string{"./our-config", "link to nowhere"}},
		{name: "our-config is a circle", files: map[string]string{"our-config": "-> our-config"}, err: []string{"./our-config", "circle"}},
		{name: "the hidden one is a file", files: map[string]string{".svc": "x", "env/": ""}, env: "env", err: []string{"./.svc", "is a file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			workdir := realTempDir(t)
			tree(t, workdir, tt.files)
			got, err := Discover(tt.flag, func(name string) string {
				if name != "SVC_DIR" {
					t.Errorf("asked for %s", name)
				}
				return tt.env
			}, workdir)
			if tt.err == nil && (err != nil || got != filepath.Join(workdir, tt.want)) {
				t.Fatalf("Discover = %q, %v; want %q", got, err, tt.want)
			}
			for _, part := range tt.err {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v does not say %q", err, part)
				}
			}
		})
	}
}

func TestDiscoverAbsolute(t *testing.T) {
	dir := realTempDir(t)
	none := func(string) string { return "" }
	if got, err := Discover(dir, none, "/elsewhere"); err != nil || got != dir {
		t.Errorf("an absolute flag: %q, %v", got, err)
	}
	tree(t, dir, map[string]string{"our-config/": ""})
	t.Chdir(dir)
	if got, err := Discover("", none, "."); err != nil || got != filepath.Join(dir, "our-config") {
		t.Errorf("a relative working directory: %q, %v", got, err)
	}
}

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
	root := t.TempDir()
	run := func(args ...string) { realgit.Run(t, root, args...) }
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

package command

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// clone is a repository with a config directory in which a flag was changed by the last
// commit, as it is when somebody is asked to review that change.
type clone struct {
	t                 *testing.T
	top, dir          string
	base, head, other string // commits; the other one shows the directory as it is at head
	marker            string // that what is run leaves behind
	lost              string // a file that may name one to be removed once all is committed
}

const (
	flagOff = `{"key":"pay","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`
	flagOn  = `{"key":"pay","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`
)

// template is a clone that others are copies of, and its files.
var template struct {
	sync.Once
	clone
	files *zip.Reader
}

func newClone(t *testing.T) *clone {
	testenv.Program(t, "your system's package", "git")
	template.Do(func() {
		c := &template.clone
		*c = clone{t: t, top: t.TempDir()}
		c.write("svc/our-config/svc.json", `{"environments":["production"]}`)
		c.write("svc/our-config/feature-flags/pay.json", flagOff+"\n")
		c.git("init", "-q", "--initial-branch=main")
		c.git("add", "-A")
		c.git("commit", "-qm", "base")
		c.base = c.git("rev-parse", "HEAD")
		c.write("svc/our-config/feature-flags/pay.json", flagOn+"\n")
		c.git("commit", "-qam", "head")
		c.head = c.git("rev-parse", "HEAD")
		c.other = c.git("commit-tree", "-m", "other", c.head+"^{tree}")
		var packed bytes.Buffer
		w := zip.NewWriter(&packed)
		must.Do(t, errors.Join(w.AddFS(os.DirFS(c.top)), w.Close()))
		template.files = must.Get(zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len())))(t)
	})
	root := t.TempDir()
	c := template.clone
	c.t, c.top, c.marker, c.lost = t, filepath.Join(root, "repository"), filepath.Join(root, "ran"), filepath.Join(root, "lost")
	c.dir = filepath.Join(c.top, "svc", "our-config")
	must.Do(t, os.CopyFS(c.top, template.files))
	c.git("update-index", "-q", "--refresh") // the files are others, to the index
	return &c
}

func (c *clone) git(args ...string) string { return c.gitIn(c.top, args...) }

func (c *clone) gitIn(dir string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@acme.example", "-c", "protocol.file.allow=always"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (c *clone) write(name, text string) {
	c.t.Helper()
	at := filepath.Join(c.top, filepath.FromSlash(name))
	must.Do(c.t, errors.Join(os.MkdirAll(filepath.Dir(at), 0o777), os.WriteFile(at, []byte(text), 0o777)))
}

// spoilt are clones by what was done to them, of one kind of the cases that testdata has, of
// which each says what is to come of it.
func spoilt(t *testing.T, kind string, check func(t *testing.T, c *clone, says string)) {
	t.Helper()
	testenv.Slow(t)
	shell := testenv.Program(t, "your system's package", "sh")
	scripts := strings.Split(string(must.Get(os.ReadFile("testdata/hostile.txt"))(t)), "\n=== ")
	for _, script := range scripts[1:] {
		title, script, _ := strings.Cut(script, "\n")
		of, name, _ := strings.Cut(title, ": ")
		if says, is := strings.CutPrefix(of, kind); is {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newClone(t)
				must.Do(t, os.WriteFile(c.marker+".sh", []byte("#!/bin/sh\ntouch '"+c.marker+"'\n"), 0o777))
				cmd := exec.Command(shell, "-euc", scripts[0]+script)
				cmd.Dir = c.top
				cmd.Env = append(os.Environ(), "base="+c.base, "head="+c.head, "other="+c.other, "pay="+pay, "off="+flagOff, "run="+c.marker+".sh", "lost="+c.lost,
					"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@acme.example", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@acme.example")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				check(t, c, says)
			})
		}
	}
}

const pay = "svc/our-config/feature-flags/pay.json"

func TestNothingInARepositoryRunsOrHidesAChange(t *testing.T) {
	spoilt(t, "runs", func(t *testing.T, c *clone, _ string) { c.showsTheChange() })
	t.Run("a commit graph with another tree", func(t *testing.T) {
		c := newClone(t)
		c.git("commit-graph", "write", "--reachable")
		graph := filepath.Join(c.top, ".git", "objects", "info", "commit-graph")
		text := string(must.Get(os.ReadFile(graph))(t))
		tree := func(commit string) string { return unhex(t, c.git("rev-parse", commit+"^{tree}")) }
		changed := strings.ReplaceAll(text, tree(c.base), tree(c.head))
		if err := errors.Join(os.Remove(graph), os.WriteFile(graph, []byte(changed), 0o666)); err != nil || changed == text {
			t.Fatal(err, "nothing was changed")
		}
		c.showsTheChange()
	})
}

// showsTheChange demands that what the head does is told, and that nothing is run.
func (c *clone) showsTheChange() {
	c.t.Helper()
	for _, args := range [][]string{
		{"diff", c.base}, {"diff", c.base, c.head}, {"diff", "HEAD~1"},
	} {
		out, said := run(c.t, c.t.Context(), c.dir, nil, append(args, "--datadir", ".")...)
		if !strings.Contains(out, "flag pay\n  default: ") {
			c.t.Errorf("%v says:\n%s%s", args, out, said)
		}
	}
	if out, said := run(c.t, c.t.Context(), c.dir, nil, "eval", "pay", "--at", c.base, "--environment", "production", "--datadir", "."); !strings.Contains(out, "pay = false") {
		c.t.Errorf("eval --at says:\n%s%s", out, said)
	}
	c.others()
}

// What is checked out is another thing than what is committed, and so than what a review
// shows, though nothing is run.
func TestWhatGitHidesFromAReviewIsRefused(t *testing.T) {
	spoilt(t, "hides ", func(t *testing.T, c *clone, says string) {
		file, why, _ := strings.Cut(says, " by ")
		c.write("docs/.gitattributes", "* text\n")
		c.git("add", "*.gitattributes")
		c.git("commit", "-qm", "hidden")
		_ = exec.Command("git", "-C", c.top, "checkout", "-q", "-f", "HEAD", "--", "svc").Run() // as far as it can
		hidden := c.git("rev-parse", "HEAD")
		if lost, err := os.ReadFile(c.lost); err == nil {
			must.Do(t, os.Remove(filepath.Join(c.top, strings.TrimSpace(string(lost)))))
		}
		commands := [][]string{{"diff", c.base}, {"diff", c.base, hidden}, {"diff", c.base, "--format", "json"}, {"verify"}, {"eval", "pay", "--at", hidden, "--environment", "production"}}
		for _, args := range commands {
			out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...)
			if !strings.Contains(out+said, file) || !strings.Contains(out+said, why) || strings.Contains(said, " 0 errors") || args[0] != "verify" && out != "" {
				t.Errorf("%v says:\n%s%s", args, out, said)
			}
		}
	})
}

// What git does not say of a repository that it refuses is not taken for nothing.
func TestARepositoryThatGitRefusesIsTold(t *testing.T) {
	c := newClone(t)
	c.git("config", "core.repositoryFormatVersion", "1")
	c.git("config", "extensions.foo", "true")
	for _, args := range [][]string{{"diff", c.base}, {"verify"}} {
		if out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...); !strings.Contains(out+said, "unknown repository extension found: foo") || strings.Contains(said, " 0 errors") {
			t.Errorf("%v says:\n%s%s", args, out, said)
		}
	}
}

// Git believes the name under which an object lies, and an archive may have another object
// under the name of one that somebody trusts.
func TestAnObjectUnderAFalseNameIsRefused(t *testing.T) {
	for _, place := range []string{":svc/our-config/feature-flags/pay.json", ":svc/our-config/feature-flags", ":svc", "^{tree}"} {
		c := newClone(t)
		id := c.git("rev-parse", c.base+place)
		object := func(id string) string { return filepath.Join(c.top, ".git", "objects", id[:2], id[2:]) }
		text, err := os.ReadFile(object(c.git("rev-parse", c.head+place)))
		if err = errors.Join(err, os.Remove(object(id)), os.WriteFile(object(id), text, 0o444)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"diff", c.base}, {"diff", c.base, c.head}, {"eval", "pay", "--at", c.base, "--environment", "production"}} {
			if out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...); out != "" || !strings.Contains(said, "has another content than its name says") {
				t.Errorf("%s: %v says:\n%s%s", place, args, out, said)
			}
		}
	}
}

// A checkout makes files of names with a slash, and of names that are there twice, where a
// review has other ones.
func TestATreeThatGitWouldNotWriteIsRefused(t *testing.T) {
	c := newClone(t)
	pay := c.git("rev-parse", c.head+":svc/our-config/feature-flags/pay.json")
	raw := func(commit string) string { // the tree of one, as git has it
		var text strings.Builder
		for line := range strings.Lines(c.git("ls-tree", commit)) {
			fields := strings.Fields(line)
			text.WriteString(c.entry(strings.TrimPrefix(fields[0], "0"), fields[3], fields[2]))
		}
		return text.String()
	}
	below := func(tree string) string { // it as the directory
		return c.entry("40000", "svc", c.hash("tree", c.entry("40000", "our-config", c.hash("tree", tree))))
	}
	for name, text := range map[string]string{
		"a slash above":  raw(c.base) + c.entry("100644", "svc/our-config/feature-flags/pay.json", pay),
		"a slash within": below(raw(c.base+":svc/our-config") + c.entry("100644", "feature-flags/pay.json", pay)),
		"a folder twice": raw(c.base) + c.entry("40000", "svc", c.git("rev-parse", c.head+":svc")),
		"a file twice": below(strings.Replace(raw(c.base+":svc/our-config"), unhex(t, c.git("rev-parse", c.base+":svc/our-config/feature-flags")),
			unhex(t, c.hash("tree", raw(c.base+":svc/our-config/feature-flags")+c.entry("100644", "pay.json", pay))), 1)),
	} {
		hidden := c.git("commit-tree", "-p", c.base, "-m", "hidden", c.hash("tree", text))
		c.git("update-ref", "--no-deref", "HEAD", hidden)
		for _, args := range [][]string{{"diff", c.base, hidden}, {"diff", hidden}, {"diff", c.base}, {"diff"}, {"eval", "pay", "--at", hidden, "--environment", "production"}} {
			if out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...); out != "" || !strings.Contains(said, "git writes no such tree") {
				t.Errorf("%s: %v says:\n%s%s", name, args, out, said)
			}
		}
	}
}

// Git looks at some bits of a mode, and so does a review.
func TestModesAreGits(t *testing.T) {
	c := newClone(t)
	pay := c.git("rev-parse", c.head+":svc/our-config/feature-flags/pay.json")
	link := c.hash("blob", "../data/x\x00zz") // a checkout ends it at the zero
	for _, modes := range [][2]string{{"40000", "107777"}, {"40000", "1100644"}, {"40000", "100600"}, {"47777", "100644"}, {"1040000", "4000100644"}, {"40000", "127777"}} {
		folder, file := modes[0], modes[1]
		id := pay
		if file == "127777" {
			id = link
		}
		flags := c.hash("tree", c.entry(file, "pay.json", id))
		data := c.entry(folder, "data", c.hash("tree", c.entry("100644", "x", pay)))
		svcJSON := c.entry("100644", "svc.json", c.git("rev-parse", c.head+":svc/our-config/svc.json"))
		hidden := c.git("commit-tree", "-p", c.base, "-m", "hidden", c.hash("tree", c.entry(folder, "svc", c.hash("tree", c.entry(folder, "our-config", c.hash("tree", data+c.entry(folder, "feature-flags", flags)+svcJSON))))))
		if out, said := run(t, t.Context(), c.dir, nil, "diff", c.base, hidden, "--datadir", "."); !strings.Contains(out, "flag pay\n  default: ") {
			t.Errorf("%v: diff says:\n%s%s", modes, out, said)
		}
		if out, said := run(t, t.Context(), c.dir, nil, "eval", "pay", "--at", hidden, "--environment", "production", "--datadir", "."); !strings.Contains(out, "pay = true") {
			t.Errorf("%v: eval --at says:\n%s%s", modes, out, said)
		}
	}
}

// hash stores an object, also a tree that git itself would not write.
func (c *clone) hash(kind, content string) string {
	c.t.Helper()
	cmd := exec.Command("git", "-C", c.top, "hash-object", "-t", kind, "--literally", "-w", "--stdin")
	cmd.Stdin = strings.NewReader(content)
	out := must.Get(cmd.Output())(c.t)
	return strings.TrimSpace(string(out))
}

// entry is one of a tree, as git has it.
func (c *clone) entry(mode, name, id string) string {
	return mode + " " + name + "\x00" + unhex(c.t, id)
}

// Of what is too large to be read, diff says that it was changed, wherever it lies.
func TestWhatIsTooLargeIsTold(t *testing.T) {
	c := newClone(t)
	const path, refused, deleted = "svc/our-config/configs/a.json", "configs/a.json: 1098576 bytes; a file may have at most", "config a\n  deleted"
	commits := map[string]string{"without": c.head}
	for _, fill := range []string{"one", "two"} {
		c.write(path, strings.Repeat(fill[:1], document.MaxSize+50_000))
		c.git("add", path)
		c.git("commit", "-qm", fill)
		commits[fill] = c.git("rev-parse", "HEAD")
	}
	c.git("reset", "-q", c.head)
	for _, tt := range []struct{ from, to, want string }{
		{"without", "one", refused}, {"one", "two", refused}, {"one", "without", deleted}, {"two", "two", "nothing was changed"}, {"without", "", refused}, {"one", "", refused},
	} {
		args := []string{"diff", commits[tt.from]}
		if tt.to != "" {
			args = append(args, commits[tt.to])
		}
		if out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...); !strings.Contains(out+said, tt.want) || tt.want == refused && out != "" {
			t.Errorf("from %s to %s diff says:\n%s%s", tt.from, tt.to, out, said)
		}
	}
}

// A submodule that has nothing to do with the documents is nobody's concern.
func TestASubmoduleBesideTheDocumentsIsNoProblem(t *testing.T) {
	c := newClone(t)
	c.git("update-index", "--add", "--cacheinfo", "160000,"+c.base+",svc/our-config/vendor/lib")
	c.git("commit", "-qm", "lib")
	for _, args := range [][]string{{"diff", c.base}, {"diff", c.base, "HEAD"}, {"verify"}} {
		if out, said := run(t, t.Context(), c.dir, nil, append(args, "--datadir", ".")...); strings.Contains(out+said, "submodule") {
			t.Errorf("%v says:\n%s%s", args, out, said)
		}
	}
}

// The path of the directory leads through links that a commit may change, and not out.
func TestALinkInThePathHidesNoChange(t *testing.T) {
	testenv.Slow(t)
	const out, within = "leads from", "flag pay\n  default: "
	for _, tt := range []struct{ name, before, after, want string }{
		{"in its place", "", "b", within}, {"to another folder", "a", "b", within}, {"in the place of a link", "a", "", within},
		{"through another one", "a", "c", within}, {"out", "a", "../elsewhere/b", out}, {"to another repository", "a", "sub", out},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t)
			for folder, flag := range map[string]string{"a": flagOff, "b": flagOn, "../elsewhere/b": flagOn, "sub": flagOn} {
				c.write(folder+"/svc.json", `{"environments":["production"]}`)
				c.write(folder+"/feature-flags/pay.json", flag)
			}
			c.gitIn(filepath.Join(c.top, "sub"), "init", "-q")
			must.Do(t, os.Symlink("b", filepath.Join(c.top, "c")))
			at := filepath.Join(c.top, "our-config")
			place := func(link, flag string) (commit string) {
				err := os.RemoveAll(at)
				if c.write("our-config/feature-flags/pay.json", flag); link != "" {
					err = errors.Join(err, os.RemoveAll(at), os.Symlink(link, at))
				}
				must.Do(t, err)
				c.git("add", "-A", ":!sub")
				c.git("commit", "-qm", "to "+link)
				return c.git("rev-parse", "HEAD")
			}
			before, after := place(tt.before, flagOff), place(tt.after, flagOn)
			for _, refs := range [][]string{{before}, {before, after}} {
				stdout, stderr := run(t, t.Context(), c.top, nil, append([]string{"diff"}, refs...)...)
				if !strings.Contains(stdout+stderr, tt.want) {
					t.Errorf("diff of %d says:\n%s%s", len(refs), stdout, stderr)
				}
			}
			if tt.want != out {
				return
			}
			for _, args := range [][]string{{"init"}, {"init", "our-config/below"}, {"verify", "--fix"}, {"pull"}, {"push"}} {
				if _, stderr := run(t, t.Context(), c.top, hostileAPI(t), args...); !strings.Contains(stderr, out) {
					t.Errorf("%v says:\n%s", args, stderr)
				}
			}
		})
	}
}

// In a submodule the names of branches are those of another repository than the one that is
// reviewed.
func TestInASubmoduleNoNameIsTaken(t *testing.T) {
	c := newClone(t)
	c.write("sub/feature-flags/pay.json", flagOn)
	c.write("sub/svc.json", `{"environments":["production"]}`)
	sub := filepath.Join(c.top, "sub")
	c.gitIn(sub, "init", "-q", "--initial-branch=main")
	c.gitIn(sub, "add", "-A")
	c.gitIn(sub, "commit", "-qm", "x")
	c.git("submodule", "--quiet", "add", "./sub", "sub")
	c.git("commit", "-qm", "submodule")
	for _, args := range [][]string{{"diff", "main"}, {"diff", "main", "HEAD"}, {"diff", "HEAD~0"}, {"eval", "pay", "--at", "main", "--environment", "production"}} {
		if out, said := run(t, t.Context(), c.top, nil, append(args, "--datadir", "sub")...); out != "" || !strings.Contains(said, "is in a submodule of "+c.top) {
			t.Errorf("%v says:\n%s%s", args, out, said)
		}
	}
	for _, args := range [][]string{{"diff"}, {"diff", c.gitIn(sub, "rev-parse", "HEAD")}} {
		if out, said := run(t, t.Context(), c.top, nil, append(args, "--datadir", "sub")...); !strings.Contains(out, "nothing was changed") {
			t.Errorf("%v says:\n%s%s", args, out, said)
		}
	}
}

// A tag that came with a clone is not taken for the branch, or the commit, that was named.
func TestANameOfSeveralIsRefused(t *testing.T) {
	c := newClone(t)
	short := c.base[:10]
	c.git("update-ref", "refs/remotes/origin/main", c.base)
	c.git("branch", "-q", "side", c.base)
	described := "v1-0-g" + short
	for _, tag := range []string{"side", "origin/main", short, described} {
		c.git("tag", tag, c.head)
	}
	c.write(".git/lone", c.head+"\n")
	c.git("update-ref", "refs/heads/lone", c.base)
	c.git("update-ref", "refs/heads/HEAD", c.base)
	c.write(".git/"+c.base[:9], c.head+"\n")
	for revision, says := range map[string]string{
		"side": "refs/heads/side, refs/tags/side;", "side~0": "refs/heads/side, refs/tags/side;", "origin/main": "refs/remotes/origin/main, refs/tags/origin/main;", short: "refs/tags/" + short + ", " + c.base + ";", described: "refs/tags/" + described + ", " + c.base + ";",
		"refs/heads/side": "", "refs/remotes/origin/main": "", "refs/heads/side~0": "", c.base: "", "lone": "refs/heads/lone, lone;", c.base[:9]: c.base[:9] + ", " + c.base + ";", "main~1": "", "HEAD~1": "", "@~1": "",
	} {
		out, said := run(t, t.Context(), c.dir, nil, "diff", revision, "HEAD", "--datadir", ".")
		if says != "" && (out != "" || !strings.Contains(said, "is the name of several: "+says)) || says == "" && !strings.Contains(out, "flag pay\n  default: ") {
			t.Errorf("diff %s says:\n%s%s", revision, out, said)
		}
	}
}

func TestNothingIsFetched(t *testing.T) {
	spoilt(t, "fetches", func(t *testing.T, c *clone, _ string) {
		if out, said := run(t, t.Context(), c.dir, nil, "diff", c.base, "--datadir", "."); out != "" || !strings.Contains(said, "partial clone") {
			t.Errorf("diff says:\n%s%s", out, said)
		}
		c.others()
	})
}

// others runs the other commands that ask git, and looks for the marker.
func (c *clone) others() {
	c.t.Helper()
	for _, args := range [][]string{
		{"diff"}, {"diff", "--format", "markdown"}, {"diff", c.base, "--format", "github"}, {"verify", "--format", "github"}, {"verify", "--fix"},
		{"eval", "pay", "--at", "HEAD"}, {"override", "pay", "--value", "true"}, {"ls"}, {"stale"},
	} {
		run(c.t, c.t.Context(), c.dir, map[string]string{"XDG_STATE_HOME": c.t.TempDir()}, append(args, "--datadir", ".")...)
	}
	if _, err := os.Lstat(c.marker); !errors.Is(err, fs.ErrNotExist) {
		c.t.Error("something was run that the repository named")
	}
}

func unhex(t *testing.T, text string) string {
	t.Helper()
	id, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err, text)
	}
	return string(id)
}

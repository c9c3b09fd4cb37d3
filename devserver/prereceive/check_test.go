package prereceive_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

const (
	none = "0000000000000000000000000000000000000000"
	id   = "1111111111111111111111111111111111111111"
)

func newRepository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository.git")
	must.Get(disk.Init(dir))(t)
	return dir
}

// check demands that updates are refused with words, or taken when there are none.
func check(t *testing.T, repository string, updates io.Reader, words string) (err error) {
	t.Helper()
	err = prereceive.Check(t.Context(), prereceive.Push{Repository: repository, Updates: updates})
	if words == "" && err != nil || words != "" && (!errors.As(err, new(*prereceive.Refusal)) || !strings.Contains(err.Error(), words)) {
		t.Errorf("%v, want %q", err, words)
	}
	return err
}

// pushed is a repository whose main has a workspace, and what is committed on top.
type pushed struct {
	*testing.T
	repository, main string
}

// entry is what a commit has at a path; nothing where the mode is "".
type entry struct{ path, mode, content string }

const file, link, submodule = "100644", "120000", "160000"

func newPushed(t *testing.T) *pushed {
	p := &pushed{T: t, repository: newRepository(t), main: "--empty"}
	var all []entry
	for path, text := range apiload.Fixture() {
		all = append(all, entry{path, file, text})
	}
	p.main = p.commit(all...)
	return p
}

// git runs git in the repository, with an index of its own.
func (p *pushed) git(stdin string, args ...string) string {
	p.Helper()
	cmd := exec.Command(testenv.Program(p, "apt-get install git", "git"), append([]string{"--git-dir", p.repository, "-c", "user.name=Ada", "-c", "user.email=ada@acme.example"}, args...)...)
	cmd.Env, cmd.Stdin = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(p.repository, "next")), strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// commit is one whose tree is main's, but for the entries.
func (p *pushed) commit(entries ...entry) string {
	p.Helper()
	p.git("", "read-tree", p.main)
	for _, e := range entries {
		switch object := id; e.mode {
		case "":
			p.git("0 "+none+"\t"+e.path+"\n", "update-index", "--index-info")
		default:
			if e.mode != submodule {
				object = p.git(e.content, "hash-object", "-w", "--stdin")
			}
			p.git("", "update-index", "--replace", "--add", "--cacheinfo", e.mode+","+object+","+e.path)
		}
	}
	return p.git("", "commit-tree", "-m", "by hand", p.git("", "write-tree"))
}

// moves is a push that moves main.
func (p *pushed) moves(from, to, words string) error {
	p.Helper()
	return check(p.T, p.repository, strings.NewReader(from+" "+to+" refs/heads/main\n"), words)
}

// TestWhatIsPushedIsChecked: documents, and what takes a place of the layout: nothing would be
// read there, and whatever stood there would leave what is served without a word.
func TestWhatIsPushedIsChecked(t *testing.T) {
	p := newPushed(t)
	const flag = "feature-flags/redesign.json"
	text := apiload.Fixture()[flag]
	for _, test := range []struct{ path, mode, content, words string }{
		{flag, file, strings.Replace(text, "checkout", "basket", 1), ""},
		{"src/x.json", file, "{", ""},
		{flag, file, "{\n  oops", flag + ":2:3: "},
		{flag, file, strings.Replace(text, `"production"`, `"moon"`, 1), flag + ":"},
		{"svc.json", file, "[", "svc.json:1:"},
		{"svc.json", "", "", "svc.json: the file is gone"},
		{"configs/big.json", file, strings.Repeat(" ", 2<<20), "configs/big.json: 2097152 bytes; a file may have at most 1048576"},
		{"configs/\x1b[31mred.json", file, "{", `configs/\u001b[31mred.json:1:`},
		{"feature-flags", link, "{}", "feature-flags: is a symbolic link; it must be a folder"},
		{"configs", file, "{}", "configs: is a file; it must be a folder"},
		{"log-levels", submodule, "", "log-levels: is a submodule; it must be a folder"},
		{"segments", link, "{}", "segments: is a symbolic link; it must be a folder"},
		{"schemas", file, "{}", "schemas: is a file; it must be a folder"},
		{"svc.json", link, "{}", "svc.json: is a symbolic link; it must be a file"},
		{"svc.json", submodule, "", "svc.json: is a submodule; it must be a file"},
		{"svc.json/a.txt", file, "{}", "svc.json: is a folder; it must be a file"},
		{flag, submodule, "", flag + ": is a submodule; it must be a file"},
		{flag + "/a.txt", file, "{}", flag + ": is a folder; it must be a file"},
		{flag, link, "{}", flag + ": is a symbolic link; it must be a file"},
		{"Config", file, "{}", "Config: git takes HEAD, config, objects and refs"},
		{"refs/a.txt", file, "{}", "refs: git takes HEAD, config, objects and refs"},
		{".svc-write.json", file, "{}", ".svc-write.json: versions before the first release"},
		{"docs", link, "{}", ""},
		{"feature-flags/README", submodule, "", ""},
	} {
		t.Run(test.path+" "+test.mode+test.words, func(t *testing.T) {
			p := *p
			p.T = t
			p.moves(p.main, p.commit(entry{test.path, test.mode, test.content}), test.words)
		})
	}
	tree := must.Get(exec.Command("git", "--git-dir", p.repository, "cat-file", "tree", p.main+"^{tree}").Output())(t)
	slashed := "100644 configs/evil.json\x00" + string(tree[len(tree)-20:]) + string(tree)
	commit := p.git("", "commit-tree", "-m", "Slash", p.git(slashed, "hash-object", "-w", "--literally", "--stdin", "-t", "tree"))
	p.moves(p.main, commit, "configs/evil.json: the entry's name has a slash in it")
}

// TestWhatWasImperfectMayStaySo: a push is refused for what it brings in. Who mends one of many
// mistakes need not mend the others, and who adds to them is told of those alone.
func TestWhatWasImperfectMayStaySo(t *testing.T) {
	p := newPushed(t)
	bad := entry{"configs/bad.json", file, "{\n"}
	p.moves(p.commit(bad), p.commit(bad, entry{"README.md", file, "hello"}), "")
	p.moves(p.commit(bad), p.commit(bad, entry{"configs/worse.json", file, "{\n"}), "configs/worse.json:2:1")
	broken := func(key string, mistakes int) entry {
		rules := strings.TrimSuffix(strings.Repeat("1,\n", mistakes), ",\n")
		return entry{"configs/" + key + ".json", file, fmt.Sprintf("{\"key\":%q,\"type\":\"config\",\"valueType\":\"int\",\"default\":{\"rules\":[\n%s\n]}}", key, rules)}
	}
	before, after := p.commit(broken("a", 3000)), p.commit(broken("a", 2999))
	p.moves(p.main, before, "and more; svc verify lists them")
	p.moves(before, after, "")
	if err := p.moves(after, p.commit(broken("a", 2999), broken("b", 3)), "configs/b.json:2:1: a rule is an object"); err != nil && strings.Contains(err.Error(), "a.json") {
		t.Errorf("what was there is told of: %v", err)
	}
	p.moves(after, p.commit(broken("a", 2999), broken("b", 60_000)), "and more; svc verify lists them")
}

// TestAPushApprovesNothing: git knows nobody who has approved what is pushed.
func TestAPushApprovesNothing(t *testing.T) {
	p := newPushed(t)
	const flag = "feature-flags/redesign.json"
	text := apiload.Fixture()[flag]
	declared := apiload.Fixture()["svc.json"]
	reviewed := strings.Replace(declared, "{", `{"review": {"production": {}}, `, 1)
	p.moves(p.main, p.commit(entry{"svc.json", file, reviewed}), "")
	p.main = p.commit(entry{"svc.json", file, reviewed})
	const refused = "others have to approve this first: it changes what production is served, or which environments there are and who reviews them"
	off := entry{"svc.json", file, declared}
	other := entry{flag, file, strings.Replace(text, `"rules": [`, `"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": true}}, `, 1)}
	p.moves(p.main, p.commit(off), refused)
	p.moves(p.main, p.commit(other), refused)
	p.moves(p.main, p.commit(off, other), refused)
	p.moves(p.main, p.commit(entry{flag, "", ""}), refused)
	p.moves(p.main, p.commit(entry{flag, link, "{}"}), refused)
	p.moves(p.main, p.commit(entry{"svc.json", "", ""}), refused)
	p.moves(p.main, p.commit(entry{flag, file, strings.Replace(text, "checkout", "basket", 1)}), "")
	p.moves(p.main, p.commit(entry{"src/x.json", file, "{"}), "")
	p.moves(p.commit(entry{"feature-flags/broken.json", file, "{"}), p.commit(), refused)
}

// TestUpdatesAreReadToTheirEnd, or the push is refused.
func TestUpdatesAreReadToTheirEnd(t *testing.T) {
	repository := newRepository(t)
	branch := none + " " + id + " refs/heads/" + strings.Repeat("a", 900) + "\n"
	for _, test := range []struct {
		name    string
		updates io.Reader
		words   string
	}{
		{"many branches", strings.NewReader(strings.Repeat(branch, 1200)), ""},
		{"another reference behind them", strings.NewReader(strings.Repeat(branch, 1200) + none + " " + id + " refs/replace/" + id + "\n"), `"refs/replace/` + id + `" is neither a branch`},
		{"main behind them", strings.NewReader(strings.Repeat(branch, 1200) + id + " " + none + " refs/heads/main\n"), "deletes the branch main"},
		{"no end of branches", &endless{line: branch}, "updates more references than can be checked"},
	} {
		t.Run(test.name, func(t *testing.T) { check(t, repository, test.updates, test.words) })
	}
}

// TestOnlyMainMovesMain: what git or the disk would take for main is refused
// under any other name, and so is a second update, of which git takes the first.
func TestOnlyMainMovesMain(t *testing.T) {
	repository := newRepository(t)
	must.Do(t, os.WriteFile(filepath.Join(repository, "refs", "heads", "alias"), []byte("ref: refs/heads/main\n"), 0o666))
	for _, test := range []struct{ updates, words string }{
		{id + " " + id + " refs/heads/MAIN", `"refs/heads/MAIN" lies where main does`},
		{id + " " + none + " refs/HEADS/main", `"refs/HEADS/main" lies where main does`},
		{id + " " + id + " refs/heads/ma\u200din", `"refs/heads/ma\u200din" lies where main does`},
		{none + " " + id + " refs/heads/main/next", `"refs/heads/main/next" lies where main does`},
		{none + " " + id + " refs/heads/Main/next", `"refs/heads/Main/next" lies where main does`},
		{id + " " + id + " refs/heads/main\n" + none + " " + id + " refs/heads/main", "updates main twice"},
		{id + " " + id + " refs/heads/alias", `"refs/heads/alias" stands for another reference`},
		{id + " " + none + " refs/heads/alias", `"refs/heads/alias" stands for another reference`},
		{id + " " + id + " refs/meta/" + strings.Repeat("a", 300), `"refs/meta/` + strings.Repeat("a", 190) + `…" is neither a branch`},
		{none + " " + id + " refs/heads/mainly", ""},
		{none + " " + id + " refs/heads/next/main", ""},
		{none + " " + id + " refs/tags/main", `"refs/tags/main" would be taken for another reference`},
		{none + " " + id + " refs/heads/HEAD", `"refs/heads/HEAD" would be taken for another reference`},
		{none + " " + id + " refs/heads/refs/heads/main", `"refs/heads/refs/heads/main" would be taken`},
		{id + " " + none + " refs/tags/main", ""}, // is taken away
		{id + " " + none + " refs/heads/main", "deletes the branch main"},
		{none + " " + id + " refs/grafts/x", `"refs/grafts/x" is neither a branch, a tag nor a note`},
		{none + " " + id + " refs/svc/x", `"refs/svc/x" is neither a branch, a tag nor a note`},
		{id + " " + none + " refs/svc/old", ""}, // who has one can take it away
		{none + " " + id + " refs/tags/v1\n" + none + " " + id + " refs/notes/commits\n" + none + " " + id + " refs/heads/draft", ""},
	} {
		t.Run(test.updates, func(t *testing.T) { check(t, repository, strings.NewReader(test.updates+"\n"), test.words) })
	}
}

// endless is a line again and again.
type endless struct{ line, rest string }

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		e.rest = e.line
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestSizesAreBoundedByKind: a commit may be smaller than a file, and what lies outside of
// the quarantine is not looked at.
func TestSizesAreBoundedByKind(t *testing.T) {
	repository, quarantine := newRepository(t), t.TempDir()
	add := func(folder, kind, content string) {
		t.Helper()
		cmd := exec.Command("git", "hash-object", "-w", "-t", kind, "--stdin")
		cmd.Env, cmd.Stdin = append(os.Environ(), "GIT_DIR="+repository, "GIT_OBJECT_DIRECTORY="+folder), strings.NewReader(content)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	commit := "tree " + id + "\nauthor a <a@b.c> 0 +0000\ncommitter a <a@b.c> 0 +0000\n\n" + strings.Repeat("x", object.MaxCommit)
	add(filepath.Join(repository, "objects"), "commit", commit)
	add(quarantine, "blob", commit)
	push := prereceive.Push{Repository: repository, Quarantine: quarantine, Updates: strings.NewReader("")}
	must.Report(t, prereceive.Check(t.Context(), push))
	add(quarantine, "commit", commit)
	large := t.TempDir()
	add(large, "blob", strings.Repeat("\x00", 65<<20))
	for folder, want := range map[string]string{quarantine: fmt.Sprintf("%d bytes; one of its kind may have at most %d", len(commit), object.MaxCommit), large: "68157440 bytes; one of its kind may have at most 67108864"} {
		push.Quarantine = folder
		if err := prereceive.Check(t.Context(), push); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestInstallInAStrangePlace: paths go through the shell and through git's
// settings.
func TestInstallInAStrangePlace(t *testing.T) {
	git := testenv.Program(t, "apt-get install git", "git")
	run := func(dir string, args ...string) (string, error) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, name := range []string{"plain", `it's a "place"`, "two words $HOME"} {
		dir := filepath.Join(t.TempDir(), name)
		repository, work, program := filepath.Join(dir, "repository.git"), filepath.Join(dir, "work"), filepath.Join(dir, "program")
		must.Get(disk.Init(repository))(t)
		must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\necho asked to $1\nexit 1\n"), 0o777))
		for range 2 { // the second time, nothing is to be done
			must.Do(t, prereceive.Install(repository, program))
		}
		for _, args := range [][]string{{"init", "-q", work}, {"-C", work, "commit", "-q", "--allow-empty", "-m", "one"}} {
			if out, err := run(dir, args...); err != nil {
				t.Fatal(out)
			}
		}
		if out, err := run(work, "push", repository, "HEAD:main"); err == nil || !strings.Contains(out, "asked to pre-receive") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

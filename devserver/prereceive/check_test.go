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
	"svc.example/svc/shared/testing/testenv"
)

const (
	none = "0000000000000000000000000000000000000000"
	id   = "1111111111111111111111111111111111111111"
)

func newRepository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository.git")
	if _, err := disk.Init(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// check demands that updates are refused with words, or taken when there are none.
func check(t *testing.T, repository string, updates io.Reader, words string) {
	t.Helper()
	err := prereceive.Check(t.Context(), prereceive.Push{Repository: repository, Updates: updates})
	if words == "" && err != nil || words != "" && (!errors.As(err, new(*prereceive.Refusal)) || !strings.Contains(err.Error(), words)) {
		t.Errorf("%v, want %q", err, words)
	}
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
	if err := os.WriteFile(filepath.Join(repository, "refs", "heads", "alias"), []byte("ref: refs/heads/main\n"), 0o666); err != nil {
		t.Fatal(err)
	}
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
	if err := prereceive.Check(t.Context(), push); err != nil {
		t.Error(err)
	}
	add(quarantine, "commit", commit)
	want := fmt.Sprintf("%d bytes; one of its kind may have at most %d", len(commit), object.MaxCommit)
	if err := prereceive.Check(t.Context(), push); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
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
		if _, err := disk.Init(repository); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho asked to $1\nexit 1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time, nothing is to be done
			if err := prereceive.Install(repository, program); err != nil {
				t.Fatal(err)
			}
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

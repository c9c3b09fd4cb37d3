package datadir

import (
	"fmt"
	"os/exec"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

func TestOverlooked(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"svc.json": "w", "README.md": "no", "feature-flags/a.json": "a", "feature-flags/b.JSON": "b", "feature-flags/c.jsonc": "c",
		"feature-flags/notes.txt": "no", "feature-flags/.hidden.JSON": "no", "feature-flags/a.json~": "no", "feature-flags/sub/d.json": "d",
		"configs/e.json/": "", "Segments/f.json": "f", "feature_flags/g.json": "g", "flags/h.json": "h", ".config/x.json": "no",
		"configs/Upper.json": "read", "configs/i.yaml": "i", "configs/j.YML": "j", "configs/k.json5": "k", "configs/README.yaml": "no",
		"configs/.i.yaml.swp": "no", "configs/#l.json#": "no", "beside.json": "m", "package.json": "no", "README.json": "no", ".dot.json": "no",
		"compose.yaml": "no", "docs/package.json": "no", "docs/readme.json": "no", "docs/n.yaml": "no", "docs/deep/o.json": "no",
	})
	checkProblems(t, Overlooked(dir), []string{
		"warning Segments: this folder is left out; did you mean segments?",
		"warning beside.json: this is left out: documents stand in the folders feature-flags, configs, log-levels, segments, schemas, by their type",
		"warning configs/e.json: this folder is left out: documents stand in the folder above it",
		"warning configs/i.yaml: this is left out: a document is plain JSON",
		"warning configs/j.YML: this is left out: a document is plain JSON",
		"warning configs/k.json5: this is left out: a document is plain JSON",
		"warning feature-flags/b.JSON: this is left out: the name of a document ends in .json, in small letters",
		"warning feature-flags/c.jsonc: this is left out: a document is plain JSON",
		"warning feature-flags/sub: this folder is left out",
		"warning feature_flags: this folder is left out; did you mean feature-flags?",
		"warning flags/h.json: this is left out: flags is none of the folders feature-flags, configs,",
	})
	if found := Overlooked(dir + "/nowhere"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

func TestWhatOtherProgramsObeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"svc.json": "w", "HEAD": "x", "config": "x", "objects/pack/p": "x", "refs/heads/main": "x", ".svc-write.json": "x",
		"feature-flags/HEAD": "x", "head.json/": "", "configs/sub/HEAD": "x", "configs/sub/objects/": "", "configs/sub/refs/": "",
		"docs/HEAD": "x", "docs/objects/": "", "docs/refs/": "", "src/HEAD": "no", "a/b/c/d/head": "x", "a/b/c/d/commondir": "x", ".git/HEAD": "no", ".git/objects/": "", ".git/refs/": "",
	})
	checkProblems(t, Overlooked(dir), []string{
		"fatal .: git does not say what it hides: not a git repository",
		"error .svc-write.json: versions before the first release take this for a change that was cut short",
		"error HEAD: git takes HEAD, config, objects and refs in a directory for a repository, whose settings say what it runs",
		"error a/b/c/d: git takes HEAD,", "error config: git takes HEAD,", "error configs/sub: git takes HEAD,", "warning configs/sub: this folder is left out", "error docs: git takes HEAD,",
		"error feature-flags/HEAD: git takes HEAD,", "error objects: git takes HEAD,", "error refs: git takes HEAD,",
	})
}

func TestAGitThatCannotBeAskedHidesNothing(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command(testenv.Program(t, "your system's package", "git"), "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tree(t, dir, map[string]string{"svc.json": "w", ".git/index": "broken"})
	checkProblems(t, Overlooked(dir), []string{"fatal .: git does not say what it hides: "})
}

func TestOverlookedIsBounded(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("configs/c%02d.yaml", i)] = "x"
		files[fmt.Sprintf("other/o%02d.json", i)] = "x"
	}
	for i := range 2 * maxFolders {
		files[fmt.Sprintf("z%03d/x.json", i)] = "x"
	}
	tree(t, dir, files)
	found := Overlooked(dir)
	if want := 2*(maxOverlooked+1) + maxFolders - 1; len(found) != want {
		t.Errorf("%d problems, not %d", len(found), want)
	}
	checkProblems(t, found[:1], []string{"warning configs: 10 more files or folders in here are left out"})
}

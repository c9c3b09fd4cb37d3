package datadir

import "testing"

func TestOverlooked(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{
		"svc.json": "w", "README.md": "no", "feature-flags/a.json": "a", "feature-flags/b.JSON": "b", "feature-flags/c.jsonc": "c",
		"feature-flags/notes.txt": "no", "feature-flags/.hidden.JSON": "no", "feature-flags/a.json~": "no", "feature-flags/sub/d.json": "d",
		"configs/e.json/": "", "Segments/f.json": "f", "feature_flags/g.json": "g", "flags/h.json": "no", "config": "a file", ".config/x.json": "no",
	})
	checkProblems(t, Overlooked(dir), []string{
		"warning Segments: this folder is left out; did you mean segments?",
		"warning configs/e.json: this folder is left out: documents stand in the folder above it",
		"warning feature-flags/b.JSON: this is left out: the name of a document ends in .json, in small letters",
		"warning feature-flags/c.jsonc: this is left out: a document is plain JSON",
		"warning feature-flags/sub: this folder is left out",
		"warning feature_flags: this folder is left out; did you mean feature-flags?",
	})
	if found := Overlooked(dir + "/nowhere"); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

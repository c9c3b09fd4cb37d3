package browsertest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/evaluation"
)

// TestEditorKnowsWhatInitWrites by the language service of VS Code: it completes and
// checks each document, from files of the directory alone.
func TestEditorKnowsWhatInitWrites(t *testing.T) {
	dir := t.TempDir()
	svc(t, "init", dir, "--samples")
	var files []string
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		folder := filepath.Dir(path)
		if filepath.Dir(folder) == dir && filepath.Base(folder) != "schemas" {
			files = append(files, path)
		}
		return err
	})
	if len(files) < 8 {
		t.Fatalf("svc init wrote only %q", files)
	}
	wrong := files[0]
	text := readFile(t, wrong)
	must(t, os.WriteFile(wrong, []byte(strings.Replace(string(text), `"valueType": "`, `"valueType": "x`, 1)), 0o600))

	editor := node(t, testdata(t, "editor.js"))
	editor.Args = append(editor.Args, files...)
	editor.Stderr = t.Output()
	out, err := editor.Output()
	must(t, err)
	var answers map[string]struct {
		Problems, Operators, Types []string
		Hover                      any
	}
	must(t, json.Unmarshal(out, &answers))

	operators := evaluation.Operators()
	for i, o := range operators {
		operators[i] = `"` + o + `"`
	}
	slices.Sort(operators)
	for _, path := range files {
		answer, ok := answers[path]
		switch {
		case !ok:
			t.Errorf("%s: nothing", path)
		case path == wrong && (len(answer.Problems) != 1 || !strings.HasPrefix(answer.Problems[0], "valueType is one of bool")):
			t.Errorf("%s has a wrong valueType, and is told %q", path, answer.Problems)
		case path != wrong && len(answer.Problems) > 0:
			t.Errorf("%s: %q", path, answer.Problems)
		}
		if !reflect.DeepEqual(answer.Operators, operators) {
			t.Errorf("%s: offers the operators %q, not %q", path, answer.Operators, operators)
		}
		if !slices.Contains(answer.Types, `"feature_flag"`) || !slices.Contains(answer.Types, `"segment"`) {
			t.Errorf("%s: offers the types %q", path, answer.Types)
		}
		if answer.Hover == nil {
			t.Errorf("%s: says nothing of valueType", path)
		}
	}
}

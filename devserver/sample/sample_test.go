package sample

import (
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

func TestSamplesVerify(t *testing.T) {
	for name, files := range map[string][]File{"all": All(), "minimal": Minimal()} {
		content := map[string][]byte{}
		folders := map[workspace.Folder]int{}
		for _, f := range files {
			content[f.Path] = f.Content
			if folder, _, ok := workspace.SplitPath(f.Path); ok {
				folders[folder]++
			}
		}
		ws, problems := workspace.ReadAndVerify(content)
		if !ws.GuardedReferences() {
			t.Errorf("%s: whoever edits a document may have it read the environment", name)
		}
		for _, p := range problems {
			t.Errorf("%s: %v", name, p)
		}
		for _, folder := range workspace.Folders {
			if folders[folder] == 0 {
				t.Errorf("%s: nothing in %s", name, folder)
			}
		}
		if _, ok := content[workspace.File]; !ok {
			t.Errorf("%s: no %s", name, workspace.File)
		}
	}
}

func TestSamplesAreInTheStoredForm(t *testing.T) {
	for _, f := range All() {
		tree, err := jsontree.Parse(f.Content)
		if err != nil {
			t.Errorf("%s: %v", f.Path, err)
			continue
		}
		if got := string(tree.Encode()); got != string(f.Content) {
			t.Errorf("%s is not as it would be stored:\n%s", f.Path, got)
		}
	}
}

package sample

import (
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// TestSamplesVerify, and are in the stored form.
func TestSamplesVerify(t *testing.T) {
	for name, files := range map[string][]File{"all": All(), "minimal": Minimal()} {
		content := map[string][]byte{}
		folders := map[workspace.Folder]int{}
		for _, f := range files {
			content[f.Path] = f.Content
			if tree, err := jsontree.Parse(f.Content); err != nil || string(tree.Encode()) != string(f.Content) {
				t.Errorf("%s is not as it would be stored: %v", f.Path, err)
			}
			if folder, _, ok := workspace.SplitPath(f.Path); ok {
				folders[folder]++
			}
		}
		ws, problems := workspace.ReadAndVerify(content)
		if !ws.GuardedReferences() {
			t.Errorf("%s: anybody who edits a document may have it read the environment", name)
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

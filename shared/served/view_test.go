package served

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// TestAViewOfWhatWasLost: at the same head, a file that is back is read.
func TestAViewOfWhatWasLost(t *testing.T) {
	head := repository.Head{Commit: "1", Sequence: 1}
	r := &cache{}
	lost := repository.File{Path: "configs/a.json", Err: &workspace.Unread{Why: "it is gone", Lost: true}}
	if v := r.at(repository.NewSnapshot(head, []repository.File{lost})); len(v.read[0].problems) != 1 {
		t.Errorf("%+v", v.read[0])
	}
	back := repository.File{Path: "configs/a.json", Text: []byte("{}")}
	if v := r.at(repository.NewSnapshot(head, []repository.File{back})); string(v.snapshot.Files[0].Text) != "{}" || !v.read[0].document {
		t.Errorf("%+v", v.read[0])
	}
}

// A page of a list tells of each flag in each environment.
func TestEnvironmentsThatDocumentsNameAreBounded(t *testing.T) {
	var entries []string
	for i := range 1000 {
		entries = append(entries, fmt.Sprintf(`{"id": "e%d", "rules": []}`, i))
	}
	flag := `{"key": "a", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}, "environments": [` + strings.Join(entries, ",") + `]}`
	head := repository.Head{Commit: "1", Sequence: 1}
	v := (&cache{}).at(repository.NewSnapshot(head, []repository.File{
		{Path: "feature-flags/a.json", Text: []byte(flag)}, {Path: "svc.json", Text: []byte(`{"environments": ["production", 1]}`)}}))
	if n := len(v.ws.Environments); n != workspace.MaxEnvironments {
		t.Errorf("%d environments", n)
	}
	if _, found := v.ws.Environment("production"); !found {
		t.Error("what is declared has made way")
	}
}

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
	lost := repository.Tree{Unread: map[string]*workspace.Unread{"configs/a.json": {Why: "it is gone", Lost: true}}}
	if v := r.at(repository.SnapshotOf(head, lost, nil)); len(v.read[0].problems) != 1 {
		t.Errorf("%+v", v.read[0])
	}
	back := repository.Tree{Files: map[string][]byte{"configs/a.json": []byte("{}")}}
	if v := r.at(repository.SnapshotOf(head, back, nil)); string(v.snapshot.Files[0].Text) != "{}" || !v.read[0].document {
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
	v := (&cache{}).at(repository.SnapshotOf(head, repository.Tree{Files: map[string][]byte{
		"feature-flags/a.json": []byte(flag), "svc.json": []byte(`{"environments": ["production", 1]}`)}}, nil))
	if n := len(v.ws.Environments); n != workspace.MaxEnvironments {
		t.Errorf("%d environments", n)
	}
	if _, found := v.ws.Environment("production"); !found {
		t.Error("what is declared has made way")
	}
}

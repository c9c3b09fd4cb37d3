package control

import (
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// TestAViewOfWhatWasLost: at the same head, a file that is back is read.
func TestAViewOfWhatWasLost(t *testing.T) {
	head := repository.Head{Commit: "1", Sequence: 1}
	of := func(text []byte) *repository.Snapshot {
		return repository.Assemble(head, repository.Tree{Files: map[string][]byte{"configs/a.json": text}}, nil)
	}
	r := &room{}
	if v := r.at(of(workspace.Lost("it is gone"))); len(v.read[0].problems) != 1 {
		t.Errorf("%+v", v.read[0])
	}
	if v := r.at(of([]byte("{}"))); string(v.snapshot.Files[0].Text) != "{}" || !v.read[0].document {
		t.Errorf("%+v", v.read[0])
	}
}

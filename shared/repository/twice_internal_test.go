package repository

import (
	"testing"

	"svc.example/svc/shared/repository/object"
)

// TestTwoEntriesOfOneName, which git does not write: a file is there once, with
// the blob that its text is of, and a stored snapshot is read again.
func TestTwoEntriesOfOneName(t *testing.T) {
	objects := map[object.ID][]byte{}
	kinds := map[object.ID]object.Kind{}
	put := func(kind object.Kind, content []byte) object.ID {
		id := object.Hash(kind, content)
		objects[id], kinds[id] = content, kind
		return id
	}
	tree := func(entries ...TreeEntry) object.ID { return put(object.TreeKind, object.EncodeTree(entries)) }
	var entries []TreeEntry
	for _, text := range []string{"one", "two", "three"} {
		entries = append(entries, TreeEntry{Mode: object.ModeFile, Name: "a.json", ID: put(object.Blob, []byte(text))})
	}
	head := Head{Commit: put(object.CommitKind, object.EncodeCommit(object.Commit{
		Tree: tree(TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: tree(entries...)}),
	})).String(), Sequence: 1}
	read := func(id object.ID) (object.Kind, []byte, error) { return kinds[id], objects[id], nil }
	whole, err := ReadTree(t.Context(), head, read, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := SnapshotOf(head, whole, nil)
	if len(s.Files) != 1 || object.Hash(object.Blob, s.Files[0].Text).String() != s.Files[0].Blob {
		t.Errorf("%+v", s.Files)
	}
	name, content, err := EncodeSnapshot(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := DecodeSnapshot(name, content); err != nil || len(again.Files) != 1 || again.Files[0].Blob != s.Files[0].Blob {
		t.Errorf("%+v, %v", again, err)
	}
}

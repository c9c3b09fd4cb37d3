package repository_test

import (
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// TestFilesAreAnnounced: all of them, before they are read, and not too many
// at a time.
func TestFilesAreAnnounced(t *testing.T) {
	stored := map[string][]byte{}
	put := func(kind object.Kind, content []byte) object.ID {
		id := object.Hash(kind, content)
		stored[string(kind)+id.String()] = content
		return id
	}
	putTree := func(entries []object.TreeEntry) object.ID { return put(object.TreeKind, object.EncodeTree(entries)) }
	var flags []object.TreeEntry
	for i := range 2*repository.AtATime + 1 {
		flags = append(flags, object.TreeEntry{Mode: object.ModeFile, Name: fmt.Sprintf("%05d.json", i), ID: put(object.Blob, fmt.Append(nil, i))})
	}
	root := putTree([]object.TreeEntry{{Mode: object.ModeFolder, Name: "feature-flags", ID: putTree(flags)}})
	commit := put(object.CommitKind, object.EncodeCommit(object.Commit{Tree: root, Message: "one\n"}))

	var expected []object.ID
	read := func(id object.ID) (object.Kind, []byte, error) {
		for _, kind := range []object.Kind{object.Blob, object.TreeKind, object.CommitKind} {
			content, found := stored[string(kind)+id.String()]
			if !found {
				continue
			}
			if kind == object.Blob {
				if len(expected) == 0 || expected[0] != id {
					t.Fatalf("%q is read, which was not announced", content)
				}
				expected = expected[1:]
			}
			return kind, content, nil
		}
		return "", nil, fmt.Errorf("there is no object %s", id)
	}
	var announced []int
	tree, err := repository.ReadTree(ctx, repository.Head{Commit: commit.String()}, read, func(blobs []object.ID) {
		expected = slices.Clone(blobs)
		announced = append(announced, len(blobs))
	}, 0)
	if err != nil || len(tree.Files) != len(flags) || !slices.Equal(announced, []int{repository.AtATime, repository.AtATime, 1}) {
		t.Errorf("%d files, announced %v, %v", len(tree.Files), announced, err)
	}
}

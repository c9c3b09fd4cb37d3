package revwalk_test

import (
	"errors"
	"testing"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/object"
)

var (
	tree   = object.EncodeTree([]object.TreeEntry{{Mode: object.ModeFile, Name: "large", ID: object.Hash(object.Blob, nil)}})
	commit = object.EncodeCommit(object.Commit{Tree: object.Hash(object.TreeKind, tree)})
	head   = object.Hash(object.CommitKind, commit)
)

// withLarge reads a commit of a tree with one file, which is too large.
type withLarge struct{ size int64 }

func (w withLarge) Read(id object.ID) (object.Kind, []byte, error) {
	switch id {
	case head:
		return object.CommitKind, commit, nil
	case object.Hash(object.TreeKind, tree):
		return object.TreeKind, tree, nil
	}
	return "", nil, &object.TooLarge{ID: id, Size: w.size, Max: revwalk.LargestFile}
}

func (withLarge) MaxBlob(int64) {}

// TestVerifyLeavesOutLargeFiles, but not what cannot be unpacked, whose size is 0.
func TestVerifyLeavesOutLargeFiles(t *testing.T) {
	for size, refused := range map[int64]bool{revwalk.LargestFile + 1: false, 0: true} {
		if err := revwalk.Verify(t.Context(), withLarge{size}, nil, head); errors.As(err, new(*object.TooLarge)) != refused || !refused && err != nil {
			t.Errorf("a file of %d bytes: %v", size, err)
		}
	}
}

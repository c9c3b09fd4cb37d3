package admin

import (
	"errors"
	"strings"
	"testing"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// TestAnEnormousFileIsNotImported: a history is read object by object, and one
// of them must not take all memory.
func TestAnEnormousFileIsNotImported(t *testing.T) {
	for name, test := range map[string]struct {
		size int
		want string
	}{
		"a large file":     {5 << 20, ""},
		"an enormous file": {revwalk.LargestFile + 1, "huge.png: object"},
	} {
		from, err := disk.Init(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		blob := pack.Object{Kind: object.Blob, Content: make([]byte, test.size)}
		blob.ID = object.Hash(blob.Kind, blob.Content)
		tree := pack.Object{Kind: object.TreeKind, Content: object.EncodeTree([]object.TreeEntry{{Mode: object.ModeFile, Name: "huge.png", ID: blob.ID}})}
		tree.ID = object.Hash(tree.Kind, tree.Content)
		who := object.Signature{Name: "x", Email: "x"}
		commit := pack.Object{Kind: object.CommitKind, Content: object.EncodeCommit(object.Commit{Tree: tree.ID, Author: who, Committer: who, Message: "x"})}
		commit.ID = object.Hash(commit.Kind, commit.Content)
		made, failed := pack.Encode([]pack.Object{blob, tree, commit})
		if err := errors.Join(err, failed, from.PutPack(t.Context(), made.Name, made.Bytes, made.Index)); err != nil {
			t.Fatal(err)
		}
		reader := from.Reader(t.Context())
		reader.MaxBlob(revwalk.LargestFile)
		p, err := repack(t.Context(), reader, commit.ID.String(), nil)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err == nil {
			p.close()
		}
		reader.Close()
	}
}

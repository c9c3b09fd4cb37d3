package admin

import (
	"strings"
	"testing"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
)

// TestAnEnormousFileIsNotImported: a history is read object by object, and one
// of them must not take all memory.
func TestAnEnormousFileIsNotImported(t *testing.T) {
	for size, want := range map[int]string{5 << 20: "", revwalk.LargestFile + 1: "huge.png: object"} {
		from := must.Get(disk.Init(t.TempDir()))(t)
		blob := gitobjects.Blob(strings.Repeat("x", size))
		tree := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "huge.png", ID: blob.ID})
		commit := gitobjects.Commit(tree)
		gitobjects.Store(t, from, blob, tree, commit)
		reader := from.Reader(t.Context())
		defer reader.Close()
		reader.MaxBlob(revwalk.LargestFile)
		p, err := repack(t.Context(), reader, commit.ID.String(), nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a file of %d bytes: %v, want %q", size, err, want)
		}
		if err == nil {
			p.close()
		}
	}
}

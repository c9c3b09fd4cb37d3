package repository_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/gitobjects"
)

// TestADocumentMayBeAsLargeAsAnObjectThatIsRead, with a byte order mark.
func TestADocumentMayBeAsLargeAsAnObjectThatIsRead(t *testing.T) {
	if object.MaxBlob != document.MaxSize+3 {
		t.Errorf("a document has up to %d bytes, and a blob of up to %d is read", document.MaxSize, object.MaxBlob)
	}
}

// TestAllTextsTogetherAreBounded: one blob of 1 MB under many names is as many MB in
// memory. More than the bound is refused as a whole, since what is left out would look
// deleted.
func TestAllTextsTogetherAreBounded(t *testing.T) {
	large := gitobjects.Blob(`"` + strings.Repeat(" ", 1<<20-2) + `"`)
	for files, want := range map[int]bool{140: true, 64: false} {
		var configs []object.TreeEntry
		for i := range files {
			configs = append(configs, object.TreeEntry{Mode: object.ModeFile, Name: fmt.Sprintf("c%03d.json", i), ID: large.ID})
		}
		folder := gitobjects.Tree(t, configs...)
		root := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: folder.ID})
		commit := gitobjects.Commit(root)
		read := func(id object.ID) (object.Kind, []byte, error) {
			for _, o := range []pack.Object{large, folder, root, commit} {
				if o.ID == id {
					return o.Kind, o.Content, nil
				}
			}
			return "", nil, errors.New("no such object")
		}
		if _, err := repository.ReadTree(ctx, repository.Head{Commit: commit.ID.String()}, read, nil, 0); errors.As(err, new(*repository.TooLarge)) != want || !want && err != nil {
			t.Errorf("%d MB: %v", files, err)
		}
	}
}

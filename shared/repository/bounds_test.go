package repository_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/repositorytest"
)

// TestADocumentMayBeAsLargeAsAnObjectThatIsRead, with a byte order mark.
func TestADocumentMayBeAsLargeAsAnObjectThatIsRead(t *testing.T) {
	if object.MaxBlob != document.MaxSize+3 {
		t.Errorf("a document has up to %d bytes, and a blob of up to %d is read", document.MaxSize, object.MaxBlob)
	}
}

// TestAllTextsTogetherAreBounded: one blob of 1 MB under many names is as many
// MB in memory. More than the bound is refused as a whole, since what is left out
// would look deleted; and once there is less, all is read again.
func TestAllTextsTogetherAreBounded(t *testing.T) {
	const files, bound = 140, 128
	objects, err := disk.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ledger := repositorytest.NewMemory()
	repo := repository.New(ledger, objects)
	who := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Unix(1_700_000_000, 0)}
	large := gitobjects.Blob(`"` + strings.Repeat(" ", 1<<20-2) + `"`)
	declaration := gitobjects.Blob(`{"environments": []}`)
	var head repository.Head
	land := func(n int) error {
		t.Helper()
		var configs []object.TreeEntry
		var touched []repository.Touch
		for i := range files {
			touch := repository.Touch{Path: fmt.Sprintf("configs/c%03d.json", i), Created: head.Commit == ""}
			if i < n {
				configs = append(configs, object.TreeEntry{Mode: object.ModeFile, Name: touch.Path[len("configs/"):], ID: large.ID})
				touch.Blob = large.ID.String()
			}
			if i >= n || head.Commit == "" {
				touched = append(touched, touch)
			}
		}
		folder := gitobjects.Tree(t, configs...)
		root := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: folder.ID}, object.TreeEntry{Mode: object.ModeFile, Name: "svc.json", ID: declaration.ID})
		if head.Commit == "" {
			touched = append(touched, repository.Touch{Path: "svc.json", Blob: declaration.ID.String(), Created: true})
		}
		var parents []object.ID
		if head.Commit != "" {
			parents = []object.ID{object.ParseID(head.Commit)}
		}
		commit := gitobjects.Commit(root, parents...)
		gitobjects.Store(t, objects, large, declaration, folder, root, commit)
		var failed error
		head, failed = ledger.Advance(ctx, head, repository.Commit{SHA: commit.ID.String(), Sequence: head.Sequence + 1, Parent: head.Commit,
			Author: who, Committer: who, Message: "x\n", Tree: root.ID.String(), Touched: touched})
		if failed != nil {
			t.Fatal(failed)
		}
		_, err := repo.Snapshot(ctx, head)
		return err
	}
	if err := land(files); !errors.Is(err, repository.ErrTooMuch) {
		t.Errorf("%d MB: %v", files, err)
	}
	if err := land(bound / 2); err != nil {
		t.Errorf("%d MB: %v", bound/2, err)
	}
}

package clone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/clone"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// TestNothingOutside: a tree that somebody made up writes nothing beside the
// directory, nor into its .git.
func TestNothingOutside(t *testing.T) {
	for _, name := range []string{"..", ".git", ".GIT", "GIT~1", "."} {
		parent := t.TempDir()
		target := filepath.Join(parent, "out")
		git, err := clone.Begin(target, "")
		if err != nil {
			t.Fatal(err)
		}
		blob := made(object.Blob, []byte("evil"))
		inner := tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "evil", ID: blob.ID})
		root := tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: name, ID: inner.ID})
		who := object.Signature{Name: "x", Email: "x"}
		commit := made(object.CommitKind, object.EncodeCommit(object.Commit{Tree: root.ID, Author: who, Committer: who, Message: "x"}))
		store(t, git, blob, inner, root, commit)
		if err := clone.CheckOut(t.Context(), target, commit.ID); err == nil || !strings.Contains(err.Error(), "can not be written") {
			t.Errorf("a folder %q: %v", name, err)
		}
		for _, path := range []string{filepath.Join(parent, "evil"), filepath.Join(git, "evil"), filepath.Join(target, "evil")} {
			if _, err := os.Stat(path); err == nil {
				t.Errorf("a folder %q has led to %s", name, path)
			}
		}
	}
}

// TestTwoOfOneName: a link and a folder of one name would lead through the link.
func TestTwoOfOneName(t *testing.T) {
	parent := t.TempDir()
	target := filepath.Join(parent, "out")
	git, err := clone.Begin(target, "")
	if err != nil {
		t.Fatal(err)
	}
	blob, link := made(object.Blob, []byte("evil")), made(object.Blob, []byte(".git"))
	inner := tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "evil", ID: blob.ID})
	root := tree(t, object.TreeEntry{Mode: object.ModeSymlink, Name: "a", ID: link.ID}, object.TreeEntry{Mode: object.ModeFolder, Name: "A", ID: inner.ID})
	who := object.Signature{Name: "x", Email: "x"}
	commit := made(object.CommitKind, object.EncodeCommit(object.Commit{Tree: root.ID, Author: who, Committer: who, Message: "x"}))
	store(t, git, blob, link, inner, root, commit)
	if err := clone.CheckOut(t.Context(), target, commit.ID); err == nil {
		t.Error("it was written")
	}
}

func made(kind object.Kind, content []byte) pack.Object {
	return pack.Object{ID: object.ID(kind, content), Kind: kind, Content: content}
}

func tree(t *testing.T, entries ...object.TreeEntry) pack.Object {
	t.Helper()
	content, err := object.EncodeTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	return made(object.TreeKind, content)
}

func store(t *testing.T, git string, objects ...pack.Object) {
	t.Helper()
	p, err := pack.Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	into, err := disk.Open(git)
	if err == nil {
		err = into.PutPack(t.Context(), p.Name, p.Bytes, p.Index)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if root, nested, err := clone.Find(dir); root != nil || nested != "" || err != nil {
		t.Errorf("nothing: %v, %q, %v", root, nested, err)
	}
	if _, err := clone.Begin(dir, "somewhere"); err != nil {
		t.Fatal(err)
	}
	if root, _, err := clone.Find(dir); err != nil || root == nil || !root.Empty() {
		t.Errorf("a repository without a commit: %v, %v", root, err)
	}
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o777); err != nil {
		t.Fatal(err)
	}
	if root, nested, err := clone.Find(below); root != nil || nested != dir || err != nil {
		t.Errorf("below one: %v, %q, %v", root, nested, err)
	}
	if err := clone.Free(dir); err == nil {
		t.Error("a directory in use is free")
	}
}

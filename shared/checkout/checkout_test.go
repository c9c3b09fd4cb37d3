package checkout_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/gitobjects"
)

// TestNothingOutside: a tree that somebody made up writes nothing beside the
// directory, nor into its .git.
func TestNothingOutside(t *testing.T) {
	for _, name := range []string{"..", ".git", ".GIT", "GIT~1", ".", ".g\u200cit", ".git\ufeff"} {
		parent := t.TempDir()
		target := filepath.Join(parent, "out")
		git, err := checkout.Init(target, "")
		if err != nil {
			t.Fatal(err)
		}
		blob := gitobjects.Blob("evil")
		inner := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "evil", ID: blob.ID})
		root := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: name, ID: inner.ID})
		commit := gitobjects.Commit(root)
		gitobjects.StoreIn(t, git, blob, inner, root, commit)
		if err := checkout.Commit(t.Context(), target, commit.ID.String()); err == nil || !strings.Contains(err.Error(), "cannot be written") {
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
	git, err := checkout.Init(target, "")
	if err != nil {
		t.Fatal(err)
	}
	blob, link := gitobjects.Blob("evil"), gitobjects.Blob(".git")
	inner := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "evil", ID: blob.ID})
	root := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeSymlink, Name: "a", ID: link.ID}, object.TreeEntry{Mode: object.ModeFolder, Name: "A", ID: inner.ID})
	commit := gitobjects.Commit(root)
	gitobjects.StoreIn(t, git, blob, link, inner, root, commit)
	if err := checkout.Commit(t.Context(), target, commit.ID.String()); err == nil {
		t.Error("it was written")
	}
}

// TestLinksComeLast: file systems have names for the same that nobody here knows,
// so nothing is written while there is a link that it could be written through.
func TestLinksComeLast(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	git, err := checkout.Init(target, "")
	if err != nil {
		t.Fatal(err)
	}
	blob, link := gitobjects.Blob("text"), gitobjects.Blob(".git")
	// Its last file is not there: that is how far it comes.
	lost := object.Hash(object.Blob, []byte("lost"))
	inner := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeSymlink, Name: "link", ID: link.ID}, object.TreeEntry{Mode: object.ModeFile, Name: "text", ID: blob.ID})
	entries := []object.TreeEntry{
		{Mode: object.ModeFolder, Name: "a", ID: inner.ID}, {Mode: object.ModeSymlink, Name: "s", ID: link.ID},
		{Mode: object.ModeFile, Name: "t", ID: blob.ID}, {Mode: object.ModeFile, Name: "z", ID: lost},
	}
	for _, complete := range []bool{false, true} {
		if complete {
			entries = entries[:3]
		}
		root := gitobjects.Tree(t, entries...)
		commit := gitobjects.Commit(root)
		gitobjects.StoreIn(t, git, blob, link, inner, root, commit)
		if err := checkout.Commit(t.Context(), target, commit.ID.String()); (err == nil) != complete {
			t.Fatal(err)
		}
		for _, path := range []string{"a/link", "s"} {
			if to, _ := os.Readlink(filepath.Join(target, path)); (to == ".git") != complete {
				t.Errorf("complete %v: the link %s leads to %q", complete, path, to)
			}
		}
		if text, err := os.ReadFile(filepath.Join(target, "a/text")); err != nil || string(text) != "text" {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// TestNothingIsHandedOnThatMovesFiles, which a journal of an older svc did.
func TestNothingIsHandedOnThatMovesFiles(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	git, err := checkout.Init(target, "")
	if err != nil {
		t.Fatal(err)
	}
	blob := gitobjects.Blob("text")
	left := []object.TreeEntry{{Mode: object.ModeFile, Name: ".svc-next-ABCDEFGHIJKLMNOPQRSTUVWX23", ID: blob.ID}, {Mode: object.ModeFile, Name: ".svc-write.json", ID: blob.ID}}
	inner := gitobjects.Tree(t, left...)
	root := gitobjects.Tree(t, append(left, object.TreeEntry{Mode: object.ModeFolder, Name: "conf", ID: inner.ID}, object.TreeEntry{Mode: object.ModeFile, Name: "kept", ID: blob.ID})...)
	commit := gitobjects.Commit(root)
	gitobjects.StoreIn(t, git, blob, inner, root, commit)
	if err := checkout.Commit(t.Context(), target, commit.ID.String()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"kept": true, left[0].Name: true, left[1].Name: false, "conf/" + left[0].Name: true, "conf/" + left[1].Name: false} {
		if _, err := os.Lstat(filepath.Join(target, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestFill: what is not finished does not stand in the way of the next attempt.
func TestFill(t *testing.T) {
	broken := errors.New("broken")
	there, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, dir := range []string{there, missing} {
		half := func() error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777), os.WriteFile(filepath.Join(dir, "a", "c"), nil, 0o666), broken)
		}
		if err := checkout.Fill(dir, half); !errors.Is(err, broken) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if entries, err := os.ReadDir(there); err != nil || len(entries) > 0 {
		t.Errorf("an empty directory has become %v, %v", entries, err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a directory that was not there is there now")
	}
	file, link := filepath.Join(there, "file"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(file, []byte("precious"), 0o666), os.Symlink("nowhere", link)); err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		file: "exists and is not a directory; name a new one",
		link: "is a symbolic link to nowhere, which does not exist; name a directory that is new",
	} {
		if err := checkout.Fill(path, func() error { t.Error("it is filled"); return broken }); err == nil || err.Error() != path+" "+why {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := checkout.Fill(there, func() error { return os.WriteFile(filepath.Join(there, "a"), nil, 0o666) }); err != nil {
		t.Error(err)
	}
	if err := checkout.Fill(there, func() error { t.Error("a directory in use is filled"); return nil }); err == nil {
		t.Error("a directory in use is free")
	}
}

package checkout_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
)

// commit writes a root with objects, which it returns the directory of.
func commit(t *testing.T, root []object.TreeEntry, objects ...pack.Object) (target string, err error) {
	t.Helper()
	target = filepath.Join(t.TempDir(), "out")
	git := must.Get(checkout.Init(target, ""))(t)
	tree := gitobjects.Tree(t, root...)
	commit := gitobjects.Commit(tree)
	gitobjects.StoreIn(t, git, append(objects, tree, commit)...)
	return target, checkout.Commit(t.Context(), target, commit.ID.String())
}

func file(name string, of pack.Object) object.TreeEntry {
	return object.TreeEntry{Mode: object.ModeFile, Name: name, ID: of.ID}
}

func folder(name string, of pack.Object) object.TreeEntry {
	return object.TreeEntry{Mode: object.ModeFolder, Name: name, ID: of.ID}
}

func link(name string, of pack.Object) object.TreeEntry {
	return object.TreeEntry{Mode: object.ModeSymlink, Name: name, ID: of.ID}
}

// TestNothingOutside: a tree that somebody made up writes nothing beside the
// directory, nor into its .git, also not through a link of the same name.
func TestNothingOutside(t *testing.T) {
	evil, leads := gitobjects.Blob("evil"), gitobjects.Blob(".git")
	inner := gitobjects.Tree(t, file("evil", evil))
	roots := map[string][]object.TreeEntry{"a link and a folder": {link("a", leads), folder("A", inner)}}
	for _, name := range []string{"..", ".git", ".GIT", "GIT~1", ".", ".g\u200cit", ".git\ufeff"} {
		roots[name] = []object.TreeEntry{folder(name, inner)}
	}
	for name, root := range roots {
		target, err := commit(t, root, evil, leads, inner)
		if err == nil || !strings.Contains(err.Error(), "cannot be written") {
			t.Errorf("%q: %v", name, err)
		}
		for _, path := range []string{"../evil", ".git/evil", "evil"} {
			if _, err := os.Stat(filepath.Join(target, path)); err == nil {
				t.Errorf("%q has led to %s", name, path)
			}
		}
	}
}

// TestLinksComeLast: file systems have names for the same that nobody here knows,
// so nothing is written while there is a link that it could be written through.
func TestLinksComeLast(t *testing.T) {
	text, leads, lost := gitobjects.Blob("text"), gitobjects.Blob(".git"), gitobjects.Blob("lost")
	inner := gitobjects.Tree(t, link("link", leads), file("text", text))
	root := []object.TreeEntry{folder("a", inner), link("s", leads), file("t", text), file("z", lost)}
	for _, complete := range []bool{false, true} { // that the last file is lost is how far it comes
		objects := []pack.Object{text, leads, inner}
		if complete {
			objects = append(objects, lost)
		}
		target, err := commit(t, root, objects...)
		if (err == nil) != complete {
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
	const next, journal = ".svc-next-ABCDEFGHIJKLMNOPQRSTUVWX23", ".svc-write.json"
	text := gitobjects.Blob("text")
	inner := gitobjects.Tree(t, file(next, text), file(journal, text))
	target := must.Get(commit(t, []object.TreeEntry{file(next, text), file(journal, text), folder("conf", inner), file("kept", text)}, text, inner))(t)
	for path, want := range map[string]bool{"kept": true, next: true, journal: false, "conf/" + next: true, "conf/" + journal: false} {
		if _, err := os.Lstat(filepath.Join(target, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWrite: what is not finished does not stand in the way of the next attempt.
func TestWrite(t *testing.T) {
	broken := errors.New("broken")
	write := func(dir string) error {
		return checkout.Write(t.Context(), dir, "", "", func(git string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o777), os.WriteFile(filepath.Join(git, "c"), nil, 0o666), broken)
		})
	}
	there, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	for _, dir := range []string{there, missing} {
		if err := write(dir); !errors.Is(err, broken) {
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
	must.Do(t, errors.Join(os.WriteFile(file, []byte("precious"), 0o666), os.Symlink("nowhere", link)))
	for path, why := range map[string]string{
		file:  "exists and is not a directory; name a new one",
		link:  "is a symbolic link to nowhere, which does not exist; name a directory that is new",
		there: "is not empty; name a directory that is new",
	} {
		if err := write(path); err == nil || err.Error() != path+" "+why {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	}
}

// TestALinkThatLiesInARepositoryIsNotFollowed out of it: it may have come with that.
func TestALinkThatLiesInARepositoryIsNotFollowed(t *testing.T) {
	outside, repository := t.TempDir(), t.TempDir()
	must.Get(checkout.Init(repository, ""))(t)
	link := filepath.Join(repository, "link")
	must.Do(t, os.Symlink(outside, link))
	for _, target := range []string{link, filepath.Join(link, "new")} {
		err := checkout.Write(t.Context(), target, "", "", func(string) error { return nil })
		if entries := must.Get(os.ReadDir(outside))(t); err == nil || len(entries) > 0 || !strings.Contains(err.Error(), "out of it") {
			t.Errorf("%s: %v, and outside lies %v", target, err, entries)
		}
	}
}

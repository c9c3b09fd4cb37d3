package source_test

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, filepath.FromSlash(path))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

func short(string) string { return "it" }

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", "\xef\xbb\xbf{\"environments\":[\"production\"]}")
	write(t, dir, "notes.txt", "not of the layout")
	s, err := source.Read(t.Context(), dir, short)
	if err != nil || s.Git != nil || s.Name != filepath.Base(dir) || len(s.Files) != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if want := "{\n  \"environments\": [\n    \"production\"\n  ]\n}\n"; string(s.Files["svc.json"]) != want {
		t.Errorf("it is not in the form of the API: %q", s.Files["svc.json"])
	}
}

func TestRefusals(t *testing.T) {
	broken := t.TempDir()
	write(t, broken, "feature-flags/one.json", "{")
	write(t, broken, "configs/two.json", "[1,]")
	var refusal *source.Refusal
	_, err := source.Read(t.Context(), broken, short)
	if !errors.As(err, &refusal) || len(refusal.Problems) != 2 || !strings.Contains(err.Error(), filepath.FromSlash("it/configs/two.json:1")) {
		t.Errorf("%v", err)
	}
	unverified := t.TempDir()
	write(t, unverified, "svc.json", `{"environments": ["production"]}`)
	write(t, unverified, "configs/a.json", `{"key":"a","type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"none"}}],"value":{"type":"string","value":"x"}}]},"environments":[{"id":"moon","rules":[]}]}`)
	s, err := source.Read(t.Context(), unverified, short)
	if err != nil || !errors.As(s.Verify, &refusal) || len(refusal.Problems) != 2 {
		t.Errorf("what svc verify tells of: %v, %v", err, s.Verify)
	}
	for _, p := range refusal.Problems {
		if p.Line != 1 || p.Column < 50 {
			t.Errorf("a place in the text as it would be stored, not in the file: %s", p)
		}
	}
	write(t, unverified, "configs/b.json", `{`)
	if _, err := source.Read(t.Context(), unverified, short); !errors.As(err, &refusal) || len(refusal.Problems) != 3 {
		t.Errorf("not all at once: %v", err)
	}
	obeyed := t.TempDir()
	for _, file := range []string{"svc.json", "config", "refs/x", ".svc-write.json"} {
		write(t, obeyed, file, `{"environments": []}`)
	}
	if _, err := source.Read(t.Context(), obeyed, short); !errors.As(err, &refusal) || len(refusal.Problems) != 3 {
		t.Errorf("what other programs obey: %v", err)
	}
	write(t, obeyed, "HEAD", "ref: refs/heads/main")
	write(t, obeyed, "objects/x", "")
	if _, err := source.Read(t.Context(), obeyed, short); err == nil || !strings.Contains(err.Error(), "for a repository") {
		t.Errorf("a repository of files: %v", err)
	}
	above := filepath.Join(t.TempDir(), "[x]")
	write(t, above, "our-config/svc.json", `{"environments": []}`)
	if _, err := source.Read(t.Context(), above, filepath.Base); err == nil || !strings.Contains(err.Error(), "did you mean our-config?") {
		t.Errorf("the one above: %v", err)
	}
	if _, err := source.Read(t.Context(), filepath.Join(above, "nowhere"), short); err == nil {
		t.Error("what is not there was read")
	}
}

// Older systems have environments such as Production.
func TestAnEnvironmentInCapitalLettersIsNoted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", `{"environments": ["Production", "test"]}`)
	s := must.Get(source.Read(t.Context(), dir, filepath.ToSlash))(t)
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, `the environment "Production" is taken as one of the type production`) || strings.Contains(notes, `"test"`) {
		t.Errorf("%q", s.Notes)
	}
}

func TestAnUnguardedWorkspaceFileIsNoted(t *testing.T) {
	for text, noted := range map[string]bool{
		`{"environments": ["production"]}`:                                  true,
		`{"environments": ["production"], "secretReferences": "protected"}`: false,
	} {
		dir := t.TempDir()
		write(t, dir, "svc.json", text)
		s := must.Get(source.Read(t.Context(), dir, filepath.ToSlash))(t)
		if got := strings.Contains(strings.Join(s.Notes, "\n"), "secretReferences"); got != noted {
			t.Errorf("%s: %q", text, s.Notes)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if root, nested, err := source.FindRepository(dir); root != nil || nested != "" || err != nil {
		t.Errorf("nothing: %v, %q, %v", root, nested, err)
	}
	must.Get(checkout.Init(dir, "somewhere"))(t)
	if root, _, err := source.FindRepository(dir); err != nil || root == nil || !root.Empty() {
		t.Errorf("a repository without a commit: %v, %v", root, err)
	}
	for _, file := range []string{"HEAD", "objects/x", "refs/x", "config"} {
		write(t, dir, file, "of another one")
	}
	if root, _, err := source.FindRepository(dir); err != nil || root == nil || !root.Empty() {
		t.Errorf("beside the files of another one: %v, %v", root, err)
	}
	below := filepath.Join(dir, "a", "b")
	must.Do(t, os.MkdirAll(below, 0o777))
	if root, nested, err := source.FindRepository(below); root != nil || nested != dir || err != nil {
		t.Errorf("below one: %v, %q, %v", root, nested, err)
	}
}

// TestFindWhatCannotBeUsed: a repository that cannot be read now is not taken for
// none, which would leave its history behind.
func TestFindWhatCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(git string) error{
		"objects on a disk that is not there": func(git string) error {
			return errors.Join(os.RemoveAll(filepath.Join(git, "objects")), os.Symlink("nowhere", filepath.Join(git, "objects")))
		},
		"a directory that is not there": func(git string) error {
			return errors.Join(os.RemoveAll(git), os.Symlink("nowhere", git))
		},
		"links in a circle": func(git string) error {
			return errors.Join(os.RemoveAll(git), os.Symlink(".git", git))
		},
		"a file": func(git string) error {
			return errors.Join(os.RemoveAll(git), os.WriteFile(git, []byte("gitdir: elsewhere\n"), 0o666))
		},
	} {
		dir := t.TempDir()
		git, err := checkout.Init(dir, "")
		if err = errors.Join(err, spoil(git)); err != nil {
			t.Fatal(err)
		}
		if root, _, err := source.FindRepository(dir); err == nil || !strings.Contains(err.Error(), git) {
			t.Errorf("%s: %v, %v", name, root, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, ".git/description", "no HEAD: git takes it for none too")
	if root, _, err := source.FindRepository(dir); root != nil || err != nil {
		t.Errorf("%v, %v", root, err)
	}
}

// TestCopyBesideCompaction: packs vanish while they are copied, and what they
// held is copied all the same.
func TestCopyBesideCompaction(t *testing.T) {
	for after := range 12 {
		dir := t.TempDir()
		git := must.Get(checkout.Init(dir, ""))(t)
		root := gitobjects.Tree(t)
		commit := gitobjects.Commit(root)
		gitobjects.StoreIn(t, git, root, commit)
		ids := []object.ID{root.ID, commit.ID}
		for n := range 5 {
			blob := gitobjects.Blob(fmt.Sprint("text ", n))
			gitobjects.StoreIn(t, git, blob)
			ids = append(ids, blob.ID)
		}
		must.Do(t, os.WriteFile(filepath.Join(git, "refs", "heads", "main"), []byte(commit.ID.String()+"\n"), 0o666))
		from, _, err := source.FindRepository(dir)
		must.Do(t, err)
		target := t.TempDir()
		into := must.Get(checkout.Init(target, ""))(t)
		copied := 0
		must.Do(t, from.CopyTo(t.Context(), into, func(int64, int64) {
			if copied++; copied == after+1 {
				compact(t, git)
			}
		}))
		found := must.Get(disk.Open(into))(t)
		for _, id := range ids {
			if _, _, err := found.Reader(t.Context()).Read(id); err != nil {
				t.Errorf("compacted after %d files: %s: %v", after+1, id, err)
			}
		}
		for _, half := range halves(t, into) {
			t.Errorf("compacted after %d files: half a pack: %s", after+1, half)
		}
	}
}

// TestCopyThroughLinks of svc's own repository: what a link leads to is copied,
// and one that leads nowhere is an error.
func TestCopyThroughLinks(t *testing.T) {
	for linked, want := range map[string]string{
		".": "", "pack": "", "pack/*.pack": "", "??": "", "??/*": "",
		"pack/pack-1.pack": "leads nowhere", "ab": "leads nowhere",
	} {
		t.Run(strings.ReplaceAll(linked, "/", " "), func(t *testing.T) {
			git := must.Get(checkout.Init(t.TempDir(), ""))(t)
			root := gitobjects.Tree(t)
			commit := gitobjects.Commit(root)
			gitobjects.StoreIn(t, git, root)
			storeLoose(t, git, commit)
			link(t, filepath.Join(git, "objects"), linked)
			into := must.Get(checkout.Init(t.TempDir(), ""))(t)
			err := source.RepositoryAt(git, commit.ID.String()).CopyTo(t.Context(), into, nil)
			if want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v", err)
				}
				return
			}
			must.Do(t, err)
			found := must.Get(disk.Open(into))(t)
			for _, id := range []string{root.ID.String(), commit.ID.String()} {
				if _, _, err := found.Reader(t.Context()).Read(object.ParseID(id)); err != nil {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// link moves what a pattern finds elsewhere, and leaves a link to it. Where it
// finds nothing, it leaves a link that leads nowhere.
func link(t *testing.T, dir, pattern string) {
	t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
	if len(found) == 0 {
		must.Do(t, os.Symlink("nowhere", filepath.Join(dir, pattern)))
	}
	for _, path := range found {
		elsewhere := filepath.Join(t.TempDir(), "elsewhere")
		must.Do(t, errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)))
	}
}

// TestNotWhole: a repository that lacks objects is refused, wherever it lies.
func TestNotWhole(t *testing.T) {
	for file, want := range map[string]string{
		"info/alternates": "borrows objects", "pack/pack-1.promisor": "partial clone",
	} {
		dir := filepath.Join(t.TempDir(), "[a]")
		git := must.Get(checkout.Init(dir, ""))(t)
		write(t, filepath.Join(git, "objects"), file, "")
		write(t, git, "refs/heads/main", strings.Repeat("1", 40)+"\n")
		if _, err := source.Read(t.Context(), dir, short); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestObjectsUnderFalseNamesAreNotImported: what their content is called by git, older
// commits too.
func TestObjectsUnderFalseNamesAreNotImported(t *testing.T) {
	blob := gitobjects.Blob("old")
	tree := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFile, Name: "x", ID: blob.ID})
	old, root := gitobjects.Commit(tree), gitobjects.Tree(t)
	whole := []pack.Object{blob, tree, old, root, gitobjects.Commit(root, old.ID)}
	for i, o := range whole[:3] {
		forged, others := o, slices.Delete(slices.Clone(whole), i, i+1)
		forged.Content = append(slices.Clone(o.Content), "\nx"...)
		for loose, store := range map[bool]func(git string){
			false: func(git string) { gitobjects.StoreIn(t, git, append(others, forged)...) },
			true:  func(git string) { gitobjects.StoreIn(t, git, others...); storeLoose(t, git, forged) },
		} {
			dir := t.TempDir()
			git := must.Get(checkout.Init(dir, ""))(t)
			store(git)
			write(t, git, "refs/heads/main", whole[4].ID.String()+"\n")
			from, _, err := source.FindRepository(dir)
			must.Do(t, err)
			into, err := checkout.Init(t.TempDir(), "")
			if err == nil {
				err = from.CopyTo(t.Context(), into, nil)
			}
			if err == nil || !strings.Contains(err.Error(), o.ID.String()) || !strings.Contains(err.Error(), "git fsck") {
				t.Errorf("a %s, loose %v: %v", o.Kind, loose, err)
			}
		}
	}
}

// TestWhatGitCallsBrokenIsNotImported: what git fsck says of a history and what an import
// says are the same, and all of it is said at once.
func TestWhatGitCallsBrokenIsNotImported(t *testing.T) {
	blob := gitobjects.Blob("text")
	entry := func(mode, name string) object.TreeEntry { return object.TreeEntry{Mode: mode, Name: name, ID: blob.ID} }
	inner := gitobjects.Tree(t, entry("100644", "x"))
	folder := func(name string) object.TreeEntry { return object.TreeEntry{Mode: "40000", Name: name, ID: inner.ID} }
	const who, message = "Ada <ada@acme.example> 1700000000 +0100", "\n\nmessage\n"
	sound := "author " + who + "\ncommitter " + who + message
	type history struct {
		name, want string // "": git and an import take it
		root       []object.TreeEntry
		commit     string // behind the tree
		unlike     bool   // what git fsck says, which tells of it as a warning, or is an older one
	}
	all := []history{
		{name: "sound", root: []object.TreeEntry{entry("100644", "a"), entry("100755", "a-b"), folder("a.b"), entry("120000", "a.json"), folder("b"), entry("100644", "b0"), entry("100644", `c\d`), entry("160000", "s")}},
		{name: "no entries"},
		{name: "old modes", root: []object.TreeEntry{entry("100664", "a")}},
		{name: "zeroes in front", root: []object.TreeEntry{{Mode: "040000", Name: "a", ID: inner.ID}}, unlike: true},
		{name: "names like git's", root: []object.TreeEntry{entry("100644", "...git"), entry("100644", ".gitignore"), entry("100644", "a.git"), entry("100644", "git"), entry("100644", "git~2")}},
		{name: "an empty name", want: "is empty", root: []object.TreeEntry{entry("100644", "")}},
		{name: "a slash", want: `"a/b": its name has a slash`, root: []object.TreeEntry{entry("100644", "a/b")}},
		{name: "twice", want: "two entries of that name", root: []object.TreeEntry{entry("100644", "a"), entry("100644", "a")}},
		{name: "a file and a folder", want: "two entries of that name", root: []object.TreeEntry{entry("100644", "a"), entry("100644", "a-"), entry("100644", "a.b"), folder("a")}},
		{name: "out of order", want: `stands behind "b"`, root: []object.TreeEntry{entry("100644", "b"), entry("100644", "a")}},
		{name: "a folder out of order", want: `stands behind "a"`, root: []object.TreeEntry{folder("a"), entry("100644", "a-")}},
		{name: "a mode of nothing", want: "mode is 107777", root: []object.TreeEntry{entry("107777", "a")}, unlike: true},
		{name: "no author", want: "0 lines that say who its author is", commit: "committer " + who + message},
		{name: "no committer", want: "0 lines that say who its committer is", commit: "author " + who + message},
		{name: "two authors", want: "2 lines that say who its author is", commit: "author " + who + "\n" + sound},
		{name: "no address", want: "its author is", commit: "author Ada 1700000000 +0100\ncommitter " + who + message},
		{name: "no name", want: "its author is", commit: "author <a@b> 1700000000 +0100\ncommitter " + who + message},
		{name: "an empty one", commit: "author  <a@b> 1700000000 +0100\ncommitter " + who + message},
		{name: "no date", want: "its committer is", commit: "author " + who + "\ncommitter Ada <a@b> then +0100" + message},
		{name: "a date before 1970", want: "its author is", commit: "author Ada <a@b> -5 +0100\ncommitter " + who + message},
		{name: "a date that begins with zero", want: "its author is", commit: "author Ada <a@b> 0170000000 +0100\ncommitter " + who + message},
		{name: "a date without end", want: "which is no date", commit: "author Ada <a@b> 99999999999999999999 +0100\ncommitter " + who + message},
		{name: "no zone", want: "its author is", commit: "author Ada <a@b> 1700000000 CET\ncommitter " + who + message},
		{name: "a NUL in the header", want: "NUL", commit: "author " + strings.Replace(who, "Ada", "A\x00da", 1) + "\ncommitter " + who + message},
		{name: "no end", want: "does not end", commit: "author " + who + "\ncommitter " + who},
		{name: "a signature", commit: "author " + who + "\ncommitter " + who + "\ngpgsig -----BEGIN\n author x\n -----END" + message},
	}
	for _, name := range []string{".", "..", ".git", ".GIT", ".Git ", ".git...", ".git:x", "git~1", "GIT~1.", `.git\x`, `a\.git`, ".g\u200cit", "\ufeff.git", ".git\u206f"} {
		want := "git's own"
		if strings.Trim(name, ".") == "" {
			want = "leads to a folder above"
		}
		all = append(all, history{name: name, want: want, root: []object.TreeEntry{folder(name)}})
	}
	for _, h := range all {
		dir := t.TempDir()
		git := must.Get(checkout.Init(dir, ""))(t)
		tree := gitobjects.Tree(t, h.root...)
		content := []byte("tree " + tree.ID.String() + "\n" + cmp.Or(h.commit, sound))
		old := pack.Object{ID: object.Hash(object.CommitKind, content), Kind: object.CommitKind, Content: content}
		root := gitobjects.Tree(t, folder("feature-flags"), folder("zz.."))
		top := gitobjects.Commit(root, old.ID)
		gitobjects.StoreIn(t, git, blob, inner, tree, old, root, top)
		write(t, git, "refs/heads/main", top.ID.String()+"\n")
		_, broken := realgit.Try(t, dir, "fsck", "--strict", "--no-dangling")
		if (broken != nil) != (h.want != "") != h.unlike {
			t.Errorf("%s: git fsck says %v", h.name, broken)
		}
		from, _, err := source.FindRepository(dir)
		must.Do(t, err)
		err = from.CopyTo(t.Context(), must.Get(checkout.Init(t.TempDir(), ""))(t), nil)
		if h.want == "" && err != nil || h.want != "" && (err == nil || !strings.Contains(err.Error(), h.want) || !strings.Contains(err.Error(), old.ID.String()) || !strings.Contains(err.Error(), "git filter-repo")) {
			t.Errorf("%s: %v", h.name, err)
		}
	}
}

func storeLoose(t *testing.T, git string, o pack.Object) {
	t.Helper()
	var deflated bytes.Buffer
	w := zlib.NewWriter(&deflated)
	_, err := fmt.Fprintf(w, "%s %d\x00%s", o.Kind, len(o.Content), o.Content)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, git, "objects/"+o.ID.String()[:2]+"/"+o.ID.String()[2:], deflated.String())
}

func compact(t *testing.T, git string) {
	t.Helper()
	objects, err := disk.Open(git)
	if err == nil {
		_, err = objects.Compact(t.Context())
	}
	must.Report(t, err)
}

// halves lists packs without an index, and indexes without a pack.
func halves(t *testing.T, git string) []string {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(git, "objects", "pack", "*")))(t)
	count := map[string]int{}
	for _, file := range files {
		count[strings.TrimSuffix(file, filepath.Ext(file))]++
	}
	var found []string
	for stem, n := range count {
		if n != 2 {
			found = append(found, stem)
		}
	}
	return found
}

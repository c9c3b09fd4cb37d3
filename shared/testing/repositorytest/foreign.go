package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// foreign is a commit as somebody else's git would make it.
type foreign struct {
	message string
	root    []repository.TreeEntry
	parent  repository.Head
	touched []repository.Touch
	objects []pack.Object // beside the root tree and the commit
}

var foreignTime = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)

func (f foreign) commit() (pack.Object, object.Commit) {
	by := repository.Signature{Name: "Grace Hopper", Email: "grace@example.com", When: foreignTime}
	c := object.Commit{Tree: f.rootTree().ID, Author: by, Committer: by, Message: f.message + "\n"}
	if f.parent.Commit != "" {
		c.Parents = []object.ID{object.ParseID(f.parent.Commit)}
	}
	return made(object.CommitKind, object.EncodeCommit(c)), c
}

func (f foreign) sha() string {
	o, _ := f.commit()
	return o.ID.String()
}

func (f foreign) rootTree() pack.Object { return treeOf(f.root) }

func made(kind object.Kind, content []byte) pack.Object {
	return pack.Object{ID: object.Hash(kind, content), Kind: kind, Content: content}
}

func treeOf(entries []repository.TreeEntry) pack.Object {
	slices.SortFunc(entries, func(a, b repository.TreeEntry) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	return made(object.TreeKind, object.EncodeTree(entries))
}

// land stores a foreign commit and makes it the head.
func (w *world) land(f foreign) repository.Head {
	w.t.Helper()
	o, c := f.commit()
	p := must.Get(pack.Encode(append(slices.Clone(f.objects), f.rootTree(), o)))(w.t)
	must.Do(w.t, w.Objects.PutPack(context.Background(), p.Name, p.Bytes, p.Index))
	head := must.Get(w.Ledger.Advance(context.Background(), f.parent, repository.Commit{
		SHA: o.ID.String(), Sequence: f.parent.Sequence + 1, Parent: f.parent.Commit,
		Author: c.Author, Committer: c.Committer, Message: c.Message, Tree: c.Tree.String(), Pack: p.Name, Touched: f.touched,
	}))(w.t)
	w.Objects.Release(p.Name)
	return head
}

// strange is a tree full of what the layout does not know, or not as it would
// write it.
func strange() (root []repository.TreeEntry, objects []pack.Object, files map[string]string) {
	add := func(kind object.Kind, content []byte) object.ID {
		o := made(kind, content)
		objects = append(objects, o)
		return o.ID
	}
	folder := func(entries ...repository.TreeEntry) object.ID {
		o := treeOf(entries)
		objects = append(objects, o)
		return o.ID
	}
	text := func(s string) object.ID { return add(object.Blob, []byte(s)) }
	inner := folder(repository.TreeEntry{Mode: object.ModeFile, Name: "x.json", ID: text("inner\n")})
	flags := folder(
		repository.TreeEntry{Mode: object.ModeExecutable, Name: "run.json", ID: text("{\"run\": 1}\n")},
		repository.TreeEntry{Mode: object.ModeFile, Name: "a.json", ID: text("{}\n")},
		repository.TreeEntry{Mode: object.ModeFile, Name: ".hidden.json", ID: text("hidden\n")},
		repository.TreeEntry{Mode: object.ModeFile, Name: "README", ID: text("read me\n")},
		repository.TreeEntry{Mode: object.ModeFolder, Name: "a", ID: inner},
		repository.TreeEntry{Mode: object.ModeFolder, Name: "b.json", ID: inner},
		repository.TreeEntry{Mode: object.ModeSymlink, Name: "link.json", ID: text("a.json")},
		repository.TreeEntry{Mode: object.ModeSubmodule, Name: "sub.json", ID: object.ParseID(strings.Repeat("1", 40))},
	)
	root = []repository.TreeEntry{
		{Mode: object.ModeFile, Name: "svc.json", ID: text("{\"environments\": []}\n")},
		{Mode: object.ModeFolder, Name: "feature-flags", ID: flags},
		{Mode: object.ModeFolder, Name: "src", ID: inner},
		{Mode: object.ModeExecutable, Name: "build", ID: text("#!/bin/sh\n")},
		{Mode: object.ModeSymlink, Name: "latest", ID: text("src")},
		{Mode: object.ModeSubmodule, Name: "vendored", ID: object.ParseID(strings.Repeat("2", 40))},
		{Mode: object.ModeFile, Name: "feature-flags.txt", ID: text("sorts between\n")},
		{Mode: object.ModeFolder, Name: "svc", ID: inner},
	}
	return root, objects, map[string]string{
		"svc.json": "{\"environments\": []}\n", "feature-flags/run.json": "{\"run\": 1}\n",
		"feature-flags/a.json": "{}\n",
	}
}

// strangeCommit is a commit of that tree.
func strangeCommit(parent repository.Head) (foreign, map[string]string) {
	root, objects, files := strange()
	f := foreign{message: "from elsewhere", root: root, objects: objects, parent: parent}
	for path, text := range files {
		f.touched = append(f.touched, repository.Touch{Path: path, Blob: object.Hash(object.Blob, []byte(text)).String(), Created: true})
	}
	slices.SortFunc(f.touched, func(a, b repository.Touch) int { return strings.Compare(a.Path, b.Path) })
	return f, files
}

// testForeign writes on top of a commit of somebody else's: once by a
// repository that read it from scratch, once by one that followed it there by
// rows, which do not tell of foreign files.
func testForeign(t *testing.T, w *world) {
	f, files := strangeCommit(w.snapshot().Head)
	head := w.land(f)
	w.wantFiles(w.cold(), files)
	w.wantFiles(w.snapshot(), files)
	w.wantSame(w.cold(), w.snapshot())

	w.commit("on top", put("feature-flags/run.json", "2\n"), put("feature-flags/z.json", "3\n"), remove("svc.json"))
	before, after := w.listing(head.Commit), w.listing(w.head().Commit)
	want := map[string]string{}
	for path, entry := range before {
		want[path] = entry
	}
	delete(want, "svc.json")
	want["feature-flags/run.json"] = "100755 blob " + object.Hash(object.Blob, []byte("2\n")).String()
	want["feature-flags/z.json"] = "100644 blob " + object.Hash(object.Blob, []byte("3\n")).String()
	if fmt.Sprint(after) != fmt.Sprint(want) {
		t.Errorf("git ls-tree says\n%v, want\n%v", after, want)
	}

	// A change of foreign files alone, which no row tells of.
	tree := w.tree(w.head().Commit)
	readme := made(object.Blob, []byte("new\n"))
	root := append(slices.Clone(tree.Root), repository.TreeEntry{Mode: object.ModeFile, Name: "NEWS", ID: readme.ID})
	w.land(foreign{message: "news", root: root, parent: w.head(), objects: []pack.Object{readme}})
	w.wantSame(w.snapshot(), w.cold())
	w.commit("after the news", put("feature-flags/a.json", "5\n"))
	if got := w.listing(w.head().Commit); got["NEWS"] != "100644 blob "+readme.ID.String() {
		t.Errorf("a write has undone what came by git: %v", got)
	}
	w.commit("the folder goes", remove("feature-flags/a.json"), remove("feature-flags/run.json"), remove("feature-flags/z.json"))
	if got := w.listing(w.head().Commit); got["feature-flags/README"] != before["feature-flags/README"] {
		t.Errorf("with its last file a folder lost what is foreign in it: %v", got)
	}
	w.wantSame(w.snapshot(), w.cold())
	w.fsck()
}

// testOccupied writes where something foreign lies.
func testOccupied(t *testing.T, w *world) {
	f, files := strangeCommit(w.snapshot().Head)
	file := made(object.Blob, []byte("no folder\n"))
	f.root = append(f.root, repository.TreeEntry{Mode: object.ModeFile, Name: "configs", ID: file.ID})
	f.objects = append(f.objects, file)
	head := w.land(f)
	for _, path := range []string{"feature-flags/b.json", "feature-flags/sub.json", "feature-flags/link.json", "configs/a.json"} {
		_, err := w.repo.Commit(context.Background(), w.snapshot(), w.draft("in the way", put(path, "1\n")))
		if !errors.Is(err, repository.ErrOccupied) {
			t.Errorf("writing %s: %v", path, err)
		}
	}
	if now := w.head(); now != head {
		t.Errorf("the head moved to %+v", now)
	}
	w.wantFiles(w.cold(), files)
}

// listing returns git ls-tree of a commit, by path.
func (w *world) listing(commit string) map[string]string {
	w.t.Helper()
	entries := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimRight(w.git("ls-tree", "-r", "-z", commit), "\x00"), "\x00") {
		entry, path, _ := strings.Cut(line, "\t")
		entries[path] = entry
	}
	return entries
}

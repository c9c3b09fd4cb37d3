package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

// git runs real git on the store.
func (w *world) git(args ...string) string {
	w.t.Helper()
	return realgit.Run(w.t, w.GitDir, args...)
}

// publish lets the branch name the head, for a ledger that keeps its head
// elsewhere.
func (w *world) publish() {
	w.t.Helper()
	w.git("update-ref", "refs/heads/main", w.head().Commit)
}

// fsck lets git check everything. It is content with objects that nothing
// names, as lost races leave them.
func (w *world) fsck() {
	w.t.Helper()
	w.publish()
	if out := w.git("fsck", "--strict", "--full", "--no-dangling"); out != "" {
		w.t.Errorf("git fsck says: %s", out)
	}
}

// testGit makes random commits and compares with a map and with real git.
func testGit(t *testing.T, w *world) {
	random := rand.New(rand.NewPCG(1, 2))
	model := map[string]string{}
	history := map[string][]string{} // newest first
	for i := range 40 {
		changes := randomChanges(random, model)
		head := w.commit(fmt.Sprintf("commit %d\n\nwith a body", i), changes...).Head
		for _, c := range changes {
			history[c.Path] = slices.Insert(history[c.Path], 0, head.Commit)
			if c.Content == nil {
				delete(model, c.Path)
			} else {
				model[c.Path] = string(c.Content)
			}
		}
		w.wantFiles(w.snapshot(), model)
	}
	w.wantSame(w.snapshot(), w.cold())
	w.fsck()
	w.compareWithGit(model, history)
	w.compareWithClone(model)
}

var folders = []string{"feature-flags/", "configs/", "log-levels/", "segments/", "schemas/"}

// randomChanges makes changes that each change something.
func randomChanges(random *rand.Rand, model map[string]string) []repository.Change {
	chosen := map[string]repository.Change{}
	for range 1 + random.IntN(3) {
		path := folders[random.IntN(len(folders))] + string(rune('a'+random.IntN(4))) + ".json"
		if random.IntN(8) == 0 {
			path = "svc.json"
		}
		if _, exists := model[path]; exists && random.IntN(4) == 0 {
			chosen[path] = remove(path)
			continue
		}
		text := fmt.Sprintf("{\n  \"n\": %d\n}\n%s", random.IntN(1_000_000_000), strings.Repeat("line\n", random.IntN(50)))
		chosen[path] = put(path, text)
	}
	return slices.Collect(maps.Values(chosen))
}

func (w *world) compareWithGit(model map[string]string, history map[string][]string) {
	w.t.Helper()
	if listed := w.listing("refs/heads/main"); len(listed) != len(model) {
		w.t.Errorf("git lists %v, want %v", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(model)))
	}
	for path, text := range model {
		if got := w.git("cat-file", "blob", "refs/heads/main:"+path); got != text {
			w.t.Errorf("git has %q at %s, want %q", got, path, text)
		}
	}
	for path, want := range history {
		if log := strings.Fields(w.git("log", "--format=%H", "refs/heads/main", "--", path)); !slices.Equal(log, want) {
			w.t.Errorf("git log of %s is %q, want %q", path, log, want)
		}
		w.wantHistory(repository.Page{Path: path}, want...)
		if patch := w.git("log", "-p", "--format=%s", "refs/heads/main", "--", path); !strings.Contains(patch, "diff --git") {
			w.t.Errorf("git log -p of %s shows nothing: %q", path, patch)
		}
	}
	for _, f := range w.snapshot().Files {
		if got := strings.TrimSpace(w.git("log", "-1", "--format=%H %an %s", "refs/heads/main", "--", f.Path)); got != fmt.Sprintf("%s %s %s", f.Last.SHA, f.Last.Author.Name, strings.Split(f.Last.Message, "\n")[0]) {
			w.t.Errorf("%s was last touched by %s, says git; want %+v", f.Path, got, *f.Last)
		}
	}
}

func (w *world) compareWithClone(model map[string]string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	w.git("clone", "--quiet", "--no-local", "--branch", "main", w.GitDir, dir)
	for path, text := range model {
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path))); err != nil || string(got) != text {
			w.t.Errorf("the clone has %q at %s, %v; want %q", got, path, err, text)
		}
	}
	if status := realgit.Run(w.t, dir, "status", "--porcelain"); status != "" {
		w.t.Errorf("the clone is not clean: %s", status)
	}
}

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

// testPast goes back to every commit: near ones, and ones that are too far back
// to be taken back one by one.
func testPast(t *testing.T, w *world) {
	texts, want := map[string]string{}, map[string]map[string]string{}
	var order []string
	for i := range 40 {
		var changes []repository.Change
		for j, path := range []string{fmt.Sprintf("feature-flags/f%d.json", i), "feature-flags/a.json", "svc.json"} {
			switch {
			case j == 2 && i%7 > 0 || j == 1 && i%3 > 0:
			case j == 1 && i%2 > 0 && texts[path] != "":
				changes = append(changes, remove(path))
				delete(texts, path)
			default:
				texts[path] = fmt.Sprintln(i)
				changes = append(changes, put(path, texts[path]))
			}
		}
		sha := w.commit(fmt.Sprint("commit ", i), changes...).Head.Commit
		order, want[sha] = append(order, sha), maps.Clone(texts)
	}
	for _, repo := range []*repository.Repository{w.repo, repository.New(w.Ledger, w.Objects)} {
		for _, i := range []int{0, 1, 14, 15, 30, 36, 38, 39} {
			sha := order[i]
			for _, revision := range []string{sha, sha[:16]} {
				s, err := repo.Past(context.Background(), w.head(), revision)
				if err != nil || s.Head.Commit != sha {
					t.Fatalf("commit %d: %+v, %v", i, s, err)
				}
				w.wantFiles(s, want[sha])
			}
		}
		if _, err := repo.Past(context.Background(), w.head(), "0000000000000000000000000000000000000000"); !errors.Is(err, repository.ErrUnknownCommit) {
			t.Errorf("a commit that there is none of: %v", err)
		}
		w.wantFiles(w.cold(), texts)
	}
}

func (w *world) tree(commit string) repository.Tree {
	w.t.Helper()
	return must.Get(w.Objects.Tree(context.Background(), repository.Head{Commit: commit}))(w.t)
}

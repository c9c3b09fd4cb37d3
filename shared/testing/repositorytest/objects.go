package repositorytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// testObjects holds the objects alone to their contract.
func testObjects(t *testing.T, w *world) {
	ctx := context.Background()
	large := bytes.Repeat([]byte("all work and no play\n"), 20_000)
	random := make([]byte, 300_000) // does not compress
	for i, x := 0, uint32(1); i < len(random); i++ {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	contents := [][]byte{[]byte("one\n"), {}, large, random, []byte("one\n")}
	var objects []pack.Object
	for _, content := range contents {
		objects = append(objects, made(object.Blob, content))
	}
	p := must.Get(pack.Encode(objects))(t)
	for range 2 { // once more is no error
		must.Do(t, w.Objects.PutPack(ctx, p.Name, p.Bytes, p.Index))
	}
	for i, o := range objects {
		place := p.Places[o.ID]
		blob := o.ID.String()
		right := repository.Touch{Blob: blob, Pack: p.Name, Offset: place.Offset, Length: place.Length}
		noLength, wrong, gone := right, right, right
		noLength.Length = 0
		wrong.Offset = p.Places[objects[(i+1)%len(objects)].ID].Offset
		gone.Pack = strings.Repeat("a", 40)
		for _, touch := range []repository.Touch{right, noLength, wrong, gone, {Blob: blob}, {Blob: blob, Pack: "../../HEAD", Offset: 1}} {
			if got, err := w.Objects.Blob(ctx, touch); err != nil || !bytes.Equal(got, o.Content) {
				t.Errorf("%+v is %d bytes, %v; want %d", touch, len(got), err, len(o.Content))
			}
		}
	}
	ended := together(16, func(i int) error {
		o := objects[i%len(objects)]
		got, err := w.Objects.Blob(ctx, repository.Touch{Blob: o.ID.String()})
		if err == nil && !bytes.Equal(got, o.Content) {
			t.Errorf("read by many, %s is something else", o.ID)
		}
		return err
	})
	if i := slices.IndexFunc(ended, func(err error) bool { return err != nil }); i >= 0 {
		t.Error(ended[i])
	}
	w.Objects.Release(p.Name)
	w.Objects.Release(p.Name)
	w.Objects.Release(strings.Repeat("0", 40))
	testNoObjects(t, w, p)
}

// testNoObjects asks for what is not there and stores what cannot be stored.
func testNoObjects(t *testing.T, w *world, p *pack.Pack) {
	ctx := context.Background()
	for _, id := range []string{strings.Repeat("f", 40), "", "abcd", "../../../etc/passwd"} {
		if got, err := w.Objects.Blob(ctx, repository.Touch{Blob: id}); err == nil {
			t.Errorf("blob %q is %q", id, got)
		}
	}
	blob := object.Hash(object.Blob, []byte("one\n")).String()
	for _, commit := range []string{strings.Repeat("f", 40), blob} {
		if _, err := w.Objects.Tree(ctx, repository.Head{Commit: commit}); err == nil {
			t.Errorf("%s has a tree", commit)
		}
	}
	if tree, err := w.Objects.Tree(ctx, repository.Head{}); err != nil || len(tree.Files)+len(tree.Root) > 0 {
		t.Errorf("no commit has the tree %v, %v", tree, err)
	}
	head := w.commit("a tree", put("svc.json", "{}\n")).Head
	if tree := w.tree(head.Commit); len(tree.Root) != 1 {
		t.Errorf("the tree is %v", tree)
	} else if got, err := w.Objects.Blob(ctx, repository.Touch{Blob: object.Hash(object.TreeKind, object.EncodeTree(tree.Root)).String()}); err == nil {
		t.Errorf("a tree was returned as a blob: %q", got)
	}
	for _, name := range []string{"", "short", "../" + p.Name[3:], strings.ToUpper(p.Name[:39]) + "G"} {
		if err := w.Objects.PutPack(ctx, name, p.Bytes, p.Index); err == nil {
			t.Errorf("a pack was stored under the name %q", name)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Objects.PutPack(cancelled, p.Name, p.Bytes, p.Index); err == nil {
		t.Error("a pack was stored though the request was cancelled")
	}
}

// largeDocument is a version of a document of some 60 KB.
func largeDocument(key string, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"key\": %q,\n", strings.Repeat(key, 20))
	state := uint64(len(key)) + uint64(key[0])
	for i := range 1000 {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "  \"user-%016x-%016x\": %t,\n", state, state>>7^state<<11, i == version*31%1000)
	}
	return b.String() + "}\n"
}

// testMerged changes two large documents in turn and merges the packs twice: what
// is stored hardly grows with the versions, and every one is still there.
func testMerged(t *testing.T, w *world) {
	if w.Merge == nil {
		t.Skip("it merges no packs")
	}
	ctx := context.Background()
	large, version := int64(0), 0
	const a, b = "feature-flags/a.json", "feature-flags/b.json"
	want := map[string]map[string]string{} // by commit and path
	texts := map[string]string{}
	var merged []string
	for range 2 {
		for range 40 {
			path := []string{a, b}[version%2]
			texts[path] = largeDocument(path, version)
			version++
			landed := w.commit("toggle", put(path, texts[path]))
			want[landed.Head.Commit] = map[string]string{a: texts[a], b: texts[b]}
			if large == 0 {
				large = w.packed()
			}
		}
		rows := must.Get(w.Ledger.Since(ctx, w.head(), 0))(t)
		for _, c := range rows[len(rows)-40:] {
			merged = append(merged, c.Pack)
		}
		name := must.Get(w.Merge(ctx, merged))(t)
		merged = []string{name}
		if stored := w.packed(); stored > 4*large {
			t.Errorf("%d versions of two documents take %d bytes, the first took %d", version, stored, large)
		}
		w.fsck()
		w.wantFiles(w.cold(), texts)
		for _, repo := range []*repository.Repository{w.repo, repository.New(w.Ledger, w.Objects)} {
			for commit, texts := range want {
				for path, text := range texts {
					if _, got, err := repo.At(ctx, w.head(), path, commit); text != "" && (err != nil || string(got) != text) {
						t.Fatalf("%s at %s is %d bytes, %v; want %d", path, commit, len(got), err, len(text))
					}
				}
			}
		}
	}
}

// packed is how many bytes all packs have.
func (w *world) packed() (bytes int64) {
	w.t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(w.GitDir, "objects", "pack", "*.pack")))(w.t)
	for _, path := range paths {
		info := must.Get(os.Stat(path))(w.t)
		bytes += info.Size()
	}
	return bytes
}

func testTwoInstances(t *testing.T, w *world) {
	w.commit("one", put("feature-flags/a.json", "1\n"), put("feature-flags/b.json", "1\n"))
	other := repository.New(w.Ledger, w.Objects)
	for i := range 5 {
		from := w.snapshotOf(other)
		landed := must.Get(other.Commit(context.Background(), from, w.draft("other", put("feature-flags/a.json", fmt.Sprintln("other", i)))))(t)
		w.wantSame(landed, w.snapshot())
		w.wantSame(w.commit("this", put("feature-flags/b.json", fmt.Sprintln("this", i)), put(fmt.Sprintf("configs/%d.json", i), "1\n")), w.snapshotOf(other))
	}
	if n := len(w.history(repository.Page{})); n != 11 {
		t.Errorf("the history has %d commits, want 11", n)
	}
	w.wantSame(w.snapshot(), w.cold())
	w.fsck()
}

// testBudgets counts the calls that the design allows. The read of the head
// comes before all of them and is not counted.
func testBudgets(t *testing.T, w *world) {
	w.commit("one", put("svc.json", "{}\n"), put("feature-flags/a.json", "1\n"), put("feature-flags/b.json", "1\n"))
	w.commit("two", put("feature-flags/a.json", "2\n"))
	if w.Extra {
		return
	}
	store, calls := counted(w.Store)
	repo := repository.New(store.Ledger, store.Objects)
	ctx := context.Background()
	want := func(what string, allowed ...string) {
		t.Helper()
		if made := calls.take(); !slices.Equal(made, allowed) {
			t.Errorf("%s took %q, allowed are %q", what, made, allowed)
		}
	}
	cold, texts := []string{"LastTouches", "Tree"}, []string{"Blob", "Blob"}
	if _, ok := w.Ledger.(repository.Checkpointed); ok {
		cold, texts = []string{"Since"}, nil // the rows carry everything
	}
	read := func() *repository.Snapshot { return w.snapshotOf(repo) }
	write := func(text string) error {
		_, err := repo.Commit(ctx, read(), w.draft("write", put("feature-flags/a.json", text)))
		return err
	}

	read()
	want("a cold read", cold...)
	together(8, func(int) error { read(); return nil })
	want("warm reads, nothing changed")
	must.Do(t, write("3\n"))
	want("a write", "Advance", "PutPack")
	read()
	want("a read after a write of this instance")
	must.Do(t, write("3\n"))
	want("a write that changes nothing")

	for i := range 5 {
		w.commit("elsewhere", put("feature-flags/b.json", fmt.Sprintln(i)), put("feature-flags/c.json", fmt.Sprintln(i)))
	}
	together(8, func(int) error { read(); return nil })
	want("reads at once after five commits elsewhere", append(texts, "Since")...)
	w.commit("elsewhere", remove("feature-flags/c.json"))
	read()
	want("a read after a deletion elsewhere", "Since")
	w.Bump()
	read()
	want("a read after a change of access")
	must.Do(t, write("4\n"))
	want("a write after that", "Advance", "PutPack")

	head := w.head()
	if _, err := repo.History(ctx, head, repository.Page{Path: "feature-flags/a.json"}); err != nil {
		t.Error(err)
	}
	want("an item's history", "History")
	past := w.history(repository.Page{})
	if _, _, err := repo.At(ctx, head, "feature-flags/a.json", past[len(past)-1].SHA[:10]); err != nil {
		t.Error(err)
	}
	want("a document at a past commit", "At", "Blob")
	if _, _, err := repo.At(ctx, head, "feature-flags/a.json", head.Commit); err != nil {
		t.Error(err)
	}
	want("a document as it still is", "At")
	if _, err := repo.Past(ctx, head, head.Commit); err != nil {
		t.Error(err)
	}
	want("everything as it still is")
	if _, err := repo.Past(ctx, head, past[2].SHA); err != nil {
		t.Error(err)
	}
	want("everything two commits ago, whose texts are in memory", "At", "At", "History")
}

// together runs a function n times at once and returns how each ended.
func together(n int, run func(i int) error) []error {
	ended := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			ended[i] = run(i)
		})
	}
	close(start)
	running.Wait()
	return ended
}

func count(ended []error, want error) int {
	n := 0
	for _, err := range ended {
		if errors.Is(err, want) || err == nil && want == nil {
			n++
		}
	}
	return n
}

// testRace lets writers begin at one head, each as an instance of its own and
// all in one instance: exactly one wins.
func testRace(t *testing.T, w *world) {
	const writers = 12
	base := w.commit("base", put("svc.json", "{}\n"))
	for _, instances := range []int{writers, 1} {
		repos := make([]*repository.Repository, instances)
		for i := range repos {
			repos[i] = repository.New(w.Ledger, w.Objects)
		}
		landed := make([]*repository.Snapshot, writers)
		// The same in everything, to the second: who made it is all they differ in.
		draft := w.draft("the same", put(fmt.Sprintf("feature-flags/%d.json", instances), "1\n"))
		ended := together(writers, func(i int) (err error) {
			repo := repos[i%instances]
			from, err := repo.Snapshot(context.Background(), base.Head)
			if err == nil {
				landed[i], err = repo.Commit(context.Background(), from, draft)
			}
			return err
		})
		if count(ended, nil) != 1 || count(ended, repository.ErrMoved) != writers-1 {
			t.Fatalf("%d writers in %d instances ended with %v", writers, instances, ended)
		}
		winner := landed[slices.Index(ended, nil)]
		if head := w.head(); head != winner.Head {
			t.Errorf("the head is %+v, the winner's is %+v", head, winner.Head)
		}
		w.wantSame(winner, w.cold())
		base = winner
	}
	if n := len(w.history(repository.Page{})); n != 3 {
		t.Errorf("the history has %d commits, want 3", n)
	}
	w.fsck()
}

// testResponseLost breaks the way back from the ledger before and after the
// head has moved: a write that landed is never reported as failed.
func testResponseLost(t *testing.T, w *world) {
	type through = func(n int, advance func() (repository.Head, error)) (repository.Head, error)
	lostAfter := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		head, err := advance()
		if n == 1 && err == nil {
			return repository.Head{}, errLost
		}
		return head, err
	}
	lostBefore := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n == 1 {
			return repository.Head{}, errLost
		}
		return advance()
	}
	overtaken := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n == 1 {
			w.commit("overtakes", put("configs/b.json", fmt.Sprintln(w.now)))
			return repository.Head{}, errLost
		}
		return advance()
	}
	passed := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		head, err := advance()
		if n == 1 && err == nil {
			w.commit("on top", put("configs/b.json", fmt.Sprintln(w.now)))
			return repository.Head{}, errLost
		}
		return head, err
	}
	silent := func(int, func() (repository.Head, error)) (repository.Head, error) { return repository.Head{}, errLost }
	busy := func(int, func() (repository.Head, error)) (repository.Head, error) {
		return repository.Head{}, repository.ErrBusy
	}
	newer := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n > 1 {
			return repository.Head{}, repository.ErrNewer
		}
		return lostAfter(n, advance)
	}
	for _, test := range []struct {
		name    string
		through through
		want    error
		adds    int // to the history
	}{
		{"after the head moved", lostAfter, nil, 1},
		{"before the head moved", lostBefore, nil, 1},
		{"another one lands meanwhile", overtaken, repository.ErrMoved, 1},
		{"another one lands on top", passed, nil, 2},
		{"for good", silent, repository.ErrUnknownOutcome, 0},
		{"a newer version has begun meanwhile", newer, repository.ErrUnknownOutcome, 1},
		{"busy", busy, repository.ErrBusy, 0},
	} {
		before := len(w.history(repository.Page{}))
		repo := repository.New(&advancing{Ledger: w.Ledger, through: test.through}, w.Objects)
		landed, err := repo.Commit(context.Background(), w.snapshotOf(repo), w.draft(test.name, put("feature-flags/a.json", test.name)))
		if !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		history := w.history(repository.Page{})
		if len(history) != before+test.adds {
			t.Errorf("%s: the history grew from %d to %d", test.name, before, len(history))
		}
		if err == nil && !slices.Contains(shas(history), landed.Head.Commit) {
			t.Errorf("%s: %s was reported and is not in the history", test.name, landed.Head.Commit)
		}
		w.wantSame(w.snapshot(), w.cold())
	}
	w.fsck()
}

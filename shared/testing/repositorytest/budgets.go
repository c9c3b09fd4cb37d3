package repositorytest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

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

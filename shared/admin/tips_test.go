package admin

import "testing"

// TestWhatIsFoundInTheBucketStays: a table of days ago does not name packs of yesterday,
// which the next sweep would take.
func TestWhatIsFoundInTheBucketStays(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	base, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.edit(t, w, 3)
	head, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reindex(ctx, base.Commit, Checking{}); err != nil {
		t.Fatal(err)
	}
	if err := w.stores.bucket.Delete(ctx, "maintenance/"+w.ID+".json"); err != nil { // it was not noted then
		t.Fatal(err)
	}
	for range 2 {
		tips, err := w.Tips(ctx, Checking{})
		if err != nil || len(tips) != 1 || tips[0].SHA != head.Commit || tips[0].Commits != 4 || tips[0].Head || tips[0].Lacks != "" {
			t.Fatalf("%+v, %v", tips, err)
		}
	}
	now, err := w.now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	book, err := w.keepBook(ctx, now, func(*upkeep) {})
	if err != nil || len(book.Retired) != 3 {
		t.Errorf("%d packs stay, %v", len(book.Retired), err)
	}
	if at, err := w.Reindex(ctx, head.Commit, Checking{}); err != nil || at.Commit != head.Commit {
		t.Error(err)
	}
	clean(t, w)
}

package admin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestWhatIsFoundInTheBucketStays: a table of days ago does not name packs of yesterday,
// which the next sweep would take; and what a head that was given up was stored in stays
// for a day.
func TestWhatIsFoundInTheBucketStays(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	base := must.Get(w.ledger.Head(ctx))(t)
	s.edit(t, w, 3)
	head := must.Get(w.ledger.Head(ctx))(t)
	must.Get(w.Reindex(ctx, base.Commit, Checking{}))(t)
	stays := func(when string) {
		t.Helper()
		now := must.Get(w.now(ctx))(t)
		if book, err := w.editUpkeep(ctx, now, func(*upkeep) {}); err != nil || len(book.Retired) != 3 {
			t.Errorf("%s: %d packs stay, %v", when, len(book.Retired), err)
		}
	}
	stays("given up")
	if err := w.stores.bucket.Delete(ctx, "maintenance/"+w.ID+".json"); err != nil { // it was not noted then
		t.Fatal(err)
	}
	for range 2 {
		tips, err := w.Tips(ctx, Checking{})
		if err != nil || len(tips) != 1 || tips[0].SHA != head.Commit || tips[0].Commits != 4 || tips[0].Head || tips[0].Lacks != "" {
			t.Fatalf("%+v, %v", tips, err)
		}
	}
	stays("found")
	if at, err := w.Reindex(ctx, head.Commit, Checking{}); err != nil || at.Commit != head.Commit {
		t.Error(err)
	}
	clean(t, w)
}

// TestCommitsThatLostARace are told from those that were the head: another one followed
// the same commit at about the same time, and was followed itself.
func TestCommitsThatLostARace(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	began := time.Now()
	commit := func(message string, after time.Duration) string {
		t.Helper()
		base := must.Get(w.Snapshot(ctx))(t)
		who := ada()
		who.When = began.Add(after)
		made := must.Get(w.repo.Commit(ctx, base, repository.Draft{
			Changes: []repository.Change{{Path: "feature-flags/a.json", Content: []byte(flag("a", false) + fmt.Sprintf("%*s", len(message), ""))}},
			Author:  who, Committer: who, Message: message + "\n",
		}))(t)
		return made.Head.Commit
	}
	back := func(to string) {
		t.Helper()
		must.Get(w.Reindex(ctx, to, Checking{}))(t)
	}
	base := commit("base", 0)
	commit("a loser", 2*time.Second)
	back(base)
	earlier := commit("before the table was put back", -time.Hour)
	back(base)
	followed := commit("the winner, which is followed", time.Second)
	loser := commit("one at the end", 10*time.Second)
	back(followed)
	head := commit("another one at the end", 11*time.Second)
	tips, err := w.Tips(ctx, Checking{})
	if err != nil || len(tips) != 4 || tips[0].SHA != head || !tips[0].Head || tips[1].SHA != earlier || tips[1].Rival || !tips[2].Rival || !tips[3].Rival {
		t.Fatalf("%+v, %v", tips, err)
	}
	// Without a table the last two are alike.
	lost := func() *Stores {
		t.Helper()
		other := *s
		other.table = standin.Table(t, s.db)
		cfg := must.Get(standin.OperatorConfig(ctx, t.Setenv, standin.DynamoDB(t), standin.S3(t)))(t)
		stores := Open(cfg, other.table, s.bucketName)
		must.Do(t, stores.CreateTable(ctx))
		return stores
	}
	if _, tips, err := lost().Recover(ctx, Recovery{ID: access.ID(w.ID), Name: "acme"}); !errors.Is(err, ErrTips) || tips[0].SHA != head || tips[1].SHA != loser || tips[1].Rival {
		t.Errorf("%+v, %v", tips, err)
	}
	// Where others have followed, what lost is no candidate.
	w = s.create(t, "other", directory(t, "a"))
	base = commit("base", 0)
	commit("a loser", 2*time.Second)
	back(base)
	commit("the winner", time.Second)
	head = commit("the last", time.Minute)
	recovered, tips, err := lost().Recover(ctx, Recovery{ID: access.ID(w.ID), Name: "other"})
	if err != nil {
		t.Fatalf("%+v, %v", tips, err)
	}
	if at, err := recovered.ledger.Head(ctx); err != nil || at.Commit != head {
		t.Errorf("it is at %s, %v; want %s", at.Commit, err, head)
	}
}

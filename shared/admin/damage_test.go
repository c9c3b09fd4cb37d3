package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
)

type row = map[string]types.AttributeValue

// TestCheckFindsDamage injects each kind of damage, looks whether it is found,
// and whether it is mended when git has all for it.
func TestCheckFindsDamage(t *testing.T) {
	in := func(rows []row, n int) row {
		slices.SortFunc(rows, func(a, b row) int {
			return strings.Compare(a["pk"].(*types.AttributeValueMemberS).Value+a["sk"].(*types.AttributeValueMemberS).Value, b["pk"].(*types.AttributeValueMemberS).Value+b["sk"].(*types.AttributeValueMemberS).Value)
		})
		return rows[n]
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, s *service, w *Workspace)
		found  string
		stays  bool
	}{
		"a row of the log is missing": {found: "the row of commit", damage: func(t *testing.T, s *service, w *Workspace) {
			s.deleteRow(t, in(s.rows(t, "log/"+w.ID), 2))
		}},
		"the last row of the log is missing": {found: "the row of commit", damage: func(t *testing.T, s *service, w *Workspace) {
			s.deleteRow(t, in(s.rows(t, "log/"+w.ID), 5))
		}},
		"a row of the log is another's": {found: "is not in the history", damage: func(t *testing.T, s *service, w *Workspace) {
			rows := s.rows(t, "log/"+w.ID)
			one, other := in(rows, 2), in(rows, 3)
			one["c"] = other["c"]
			s.putRow(t, one)
		}},
		"a row of the log tells lies": {found: "wrong about its author, message", damage: func(t *testing.T, s *service, w *Workspace) {
			one := in(s.rows(t, "log/"+w.ID), 2)
			c, rest, err := repository.ReadCommit(one["c"].(*types.AttributeValueMemberB).Value)
			if err != nil || len(rest) > 0 {
				t.Fatal(err, rest)
			}
			c.Author.Name, c.Message = "Mallory", "Nothing happened\n"
			one["c"] = &types.AttributeValueMemberB{Value: repository.AppendCommit(nil, c)}
			s.putRow(t, one)
		}},
		"a commit of another history": {found: "belongs", damage: func(t *testing.T, s *service, w *Workspace) {
			one := in(s.rows(t, "log/"+w.ID), 2)
			c, _, err := repository.ReadCommit(one["c"].(*types.AttributeValueMemberB).Value)
			if err != nil {
				t.Fatal(err)
			}
			c.SHA = strings.Repeat("cd", 20)
			one["c"] = &types.AttributeValueMemberB{Value: repository.AppendCommit(nil, c)}
			s.putRow(t, one)
		}},
		"a row looks into the wrong pack": {found: "wrong about its pack", damage: func(t *testing.T, s *service, w *Workspace) {
			rows := s.rows(t, "log/"+w.ID)
			one := in(rows, 2)
			one["p"] = in(rows, 3)["p"]
			s.putRow(t, one)
		}},
		"a row of the log is no row": {found: "cannot be read", damage: func(t *testing.T, s *service, w *Workspace) {
			one := in(s.rows(t, "log/"+w.ID), 2)
			one["c"] = &types.AttributeValueMemberB{Value: []byte("nonsense")}
			s.putRow(t, one)
		}},
		"a row of an item is missing": {found: "the history of feature-flags/a.json", damage: func(t *testing.T, s *service, w *Workspace) {
			s.deleteRow(t, in(s.rows(t, "item/"+w.ID), 1))
		}},
		"a row of an item is another's": {found: "the history of feature-flags/a.json", damage: func(t *testing.T, s *service, w *Workspace) {
			rows := s.rows(t, "item/"+w.ID)
			one, other := in(rows, 1), in(rows, 2)
			one["c"] = other["c"]
			s.putRow(t, one)
		}},
		"an id is missing": {found: "is not found by its id", damage: func(t *testing.T, s *service, w *Workspace) {
			head, err := w.ledger.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range s.rows(t, "ids/"+w.ID) {
				if r["sk"].(*types.AttributeValueMemberS).Value != head.Commit {
					s.deleteRow(t, r)
					return
				}
			}
		}},
		"the snapshot is missing": {found: "snapshot", damage: func(t *testing.T, s *service, w *Workspace) {
			if _, err := w.Reindex(ctx, "", Checking{}); err != nil { // which stores one
				t.Fatal(err)
			}
			s.deleteBelow(t, w.prefix()+"snapshots/")
		}},
		"a pack is missing": {found: "is not in the bucket", stays: true, damage: func(t *testing.T, s *service, w *Workspace) {
			packs, err := w.ledger.Packs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			s.deleteBelow(t, w.prefix()+"objects/pack/pack-"+packs[0])
		}},
		"a pack is damaged": {found: "is damaged", stays: true, damage: func(t *testing.T, s *service, w *Workspace) {
			packs, err := w.ledger.Packs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			name := w.prefix() + "objects/pack/pack-" + packs[0] + ".pack"
			content, _, err := s.bucket.Get(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			content[len(content)/2] ^= 1
			if _, err := s.bucket.Put(ctx, name, bucket.Bytes(content)); err != nil {
				t.Fatal(err)
			}
		}},
		"a pack was merged, and the table does not know": {found: "is not in the bucket", damage: func(t *testing.T, s *service, w *Workspace) {
			packs, err := w.ledger.Packs(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.objects.Merge(ctx, packs, 0, nil); err != nil {
				t.Fatal(err)
			}
			for _, name := range packs {
				s.deleteBelow(t, w.prefix()+"objects/pack/pack-"+name)
			}
		}},
		"the head names a commit that is not there": {found: "git lacks", stays: true, damage: func(t *testing.T, s *service, w *Workspace) {
			head := s.rows(t, "head/"+w.ID)[0]
			head["commit"] = &types.AttributeValueMemberS{Value: strings.Repeat("ab", 20)}
			s.putRow(t, head)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			w := s.create(t, "acme", directory(t, "a"))
			s.edit(t, w, 5)
			clean(t, w)
			c.damage(t, s, w)
			found, left, err := s.workspace(w.Workspace.Workspace).Repair(ctx, Checking{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found.Problems, func(p Problem) bool { return strings.Contains(p.What, c.found) }) {
				t.Errorf("found is %+v, and not %q", found.Problems, c.found)
			}
			if (len(left.Problems) > 0) != c.stays {
				t.Errorf("left is %+v", left.Problems)
			}
			if c.stays {
				return
			}
			clean(t, w)
			s.edit(t, s.workspace(w.Workspace.Workspace), 1)
			clean(t, w)
		})
	}
}

func (s *service) deleteBelow(t testing.TB, prefix string) {
	t.Helper()
	n := 0
	for info, err := range s.bucket.List(ctx, prefix) {
		if err == nil {
			err = s.bucket.Delete(ctx, info.Key)
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Fatalf("there is nothing at %s", prefix)
	}
}

// TestTheWayBack: after a loss that nothing mends, the head can be set to a
// commit that is whole.
func TestTheWayBack(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 3)
	good, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.edit(t, w, 1)
	history, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	since, err := w.ledger.Since(ctx, history, good.Sequence)
	if err != nil || len(since) != 1 {
		t.Fatal(since, err)
	}
	s.deleteBelow(t, w.prefix()+"objects/pack/pack-"+since[0].Pack)
	w = s.workspace(w.Workspace.Workspace)
	if _, err := w.Reindex(ctx, "", Checking{}); err == nil || !strings.Contains(err.Error(), "git lacks") {
		t.Errorf("with a pack lost: %v", err)
	}
	if _, err := w.Reindex(ctx, "nonsense", Checking{}); err == nil {
		t.Error("nonsense became the head")
	}
	head, err := w.Reindex(ctx, good.Commit, Checking{})
	if err != nil || head.Commit != good.Commit {
		t.Fatalf("%+v, %v", head, err)
	}
	clean(t, w)
	s.edit(t, w, 1)
	clean(t, w)
}

// TestTheWrongWayBack: what a head that was given up was stored in stays for a
// day, so that it can be the head again.
func TestTheWrongWayBack(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 1)
	older, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.edit(t, w, 3)
	newer, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	since, err := w.ledger.Since(ctx, newer, older.Sequence)
	if err != nil || len(since) < 2 {
		t.Fatal(len(since), err)
	}
	if _, err := w.Reindex(ctx, older.Commit, Checking{}); err != nil {
		t.Fatal(err)
	}
	book, err := w.keepBook(ctx, time.Now(), func(*upkeep) {})
	for _, c := range since {
		if _, kept := book.Retired[c.Pack]; !kept || err != nil {
			t.Errorf("the pack of %s goes at once: %v, %v", c.SHA, book.Retired, err)
		}
	}
	if head, err := w.Reindex(ctx, newer.Commit, Checking{}); err != nil || head.Commit != newer.Commit {
		t.Errorf("%+v, %v", head, err)
	}
	clean(t, w)
}

// TestCompactBesideWriters: nothing is lost, everything stays readable.
func TestCompactBesideWriters(t *testing.T) {
	s := newSite(t, 0)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 20)
	var writing sync.WaitGroup
	writing.Go(func() { s.edit(t, s.workspace(w.Workspace.Workspace), 20) })
	writing.Go(func() {
		for range 4 {
			clean(t, s.workspace(w.Workspace.Workspace))
		}
	})
	for range 3 {
		done, err := w.Compact(ctx, Compacting{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", done)
	}
	writing.Wait()
	done, err := w.Compact(ctx, Compacting{All: true})
	if err != nil || done.Left != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if found := clean(t, w); found.Commits != 41 || found.Orphans == 0 {
		t.Errorf("%+v", found)
	}
	// A day later what was merged goes; a day is counted from when.
	packs, err := w.ledger.Packs(ctx)
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	book, err := w.keepBook(ctx, time.Now(), func(*upkeep) {})
	if err != nil || len(book.Retired) < 40 {
		t.Errorf("%d packs are remembered, %v", len(book.Retired), err)
	}
	s.clock.Pass(twoDays)
	done, err = w.Compact(ctx, Compacting{})
	if err != nil || done.Removed < 40 {
		t.Fatalf("%+v, %v", done, err)
	}
	if book, err = w.keepBook(ctx, time.Now().Add(twoDays), func(*upkeep) {}); err != nil || len(book.Retired) != 0 {
		t.Errorf("after a day %d are remembered, %v", len(book.Retired), err)
	}
	clean(t, w)
}

// TestReindexBesideWriters: what they write meanwhile is in the new rows.
func TestReindexBesideWriters(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 10)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		other := s.workspace(w.Workspace.Workspace)
		for {
			select {
			case <-stop:
				return
			default:
				s.editSome(t, other)
				time.Sleep(10 * time.Millisecond) // beside one who never pauses, Reindex gives up in the end
			}
		}
	})
	for range 3 {
		if _, err := w.Reindex(ctx, "", Checking{}); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	writing.Wait()
	clean(t, w)
}

// TestReindexTellsTheHeadThatItIndexed: somebody may have written since the packs
// were copied.
func TestReindexTellsTheHeadThatItIndexed(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	other := s.workspace(w.Workspace.Workspace)
	written := false
	head, err := w.Reindex(ctx, "", Checking{Progress: func(doing, _ string) func(int, int) {
		if doing == "telling the history" && !written {
			written = true
			s.edit(t, other, 1)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if now, err := w.ledger.Head(ctx); err != nil || head.Commit != now.Commit || head.Sequence != now.Sequence || !written {
		t.Errorf("it tells %s (%d), the head is %s (%d), %v", head.Commit, head.Sequence, now.Commit, now.Sequence, err)
	}
}

// editSome is edit, for who must begin again when the rows are replaced.
func (s *service) editSome(t testing.TB, w *Workspace) {
	yes := true
	_, err := w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "e" + strings.ToLower(rand.Text()), Add: true, Protected: &yes}, ada())
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMaintain(t *testing.T) {
	s := newSite(t, 0)
	one := s.create(t, "one", directory(t, "a"))
	two := s.create(t, "two", directory(t, "a"))
	s.edit(t, one, 70)
	run := func(ctx context.Context) Maintained {
		t.Helper()
		done, err := s.Maintain(ctx, Maintenance{Reserve: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	first := run(ctx)
	if !first.Complete || len(first.Workspaces) != 2 || first.Err() != nil {
		t.Fatalf("%+v", first)
	}
	for _, w := range first.Workspaces {
		if w.ID == one.ID && (w.Merged < 70 || w.Checked != 71) || w.ID == two.ID && (w.Merged != 0 || w.Checked != 1) {
			t.Errorf("%+v", w)
		}
	}
	if again := run(ctx); again.Workspaces[0].Checked+again.Workspaces[1].Checked != 0 {
		t.Errorf("what is clean is checked again: %+v", again)
	}
	s.clock.Pass(25 * time.Hour)
	if again, err := s.Maintain(ctx, Maintenance{}); err != nil || again.Workspaces[0].Checked+again.Workspaces[1].Checked != 0 {
		t.Errorf("what nobody has changed is checked again: %+v, %v", again, err)
	}
	// With no time it does nothing, with some it goes on where it stopped.
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if none, _ := s.Maintain(short, Maintenance{Reserve: time.Minute}); none.Complete || len(none.Workspaces) != 0 {
		t.Errorf("without time %+v", none)
	}
	order := func() string { return run(ctx).Workspaces[0].ID }
	if err := s.mark(ctx, min(one.ID, two.ID)); err != nil {
		t.Fatal(err)
	}
	if first := order(); first != max(one.ID, two.ID) {
		t.Errorf("it begins with %s", first)
	}
	// What is wrong is told, with every run until it is mended.
	head, err := two.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.edit(t, two, 2)
	rows := s.rows(t, "log/"+two.ID)
	for _, r := range rows {
		if strings.HasSuffix(r["sk"].(*types.AttributeValueMemberS).Value, head.Commit) {
			s.deleteRow(t, r)
		}
	}
	s.clock.Pass(25 * time.Hour)
	for range 2 {
		done, err := s.Maintain(ctx, Maintenance{})
		if err != nil || done.Err() == nil || !strings.Contains(done.Err().Error(), "svcadmin fsck") {
			t.Errorf("%+v, %v", done, err)
		}
	}
	// Also when the damage is such that no packs can be listed, and none merged.
	unread := rows[len(rows)-1]
	unread["c"] = &types.AttributeValueMemberB{Value: []byte("nonsense")}
	s.putRow(t, unread)
	done, err := s.Maintain(ctx, Maintenance{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range done.Workspaces {
		if w.ID == two.ID && (w.Error == "" || len(w.Problems) == 0) {
			t.Errorf("%+v", w)
		}
	}
}

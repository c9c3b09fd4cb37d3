package admin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/testing/must"
)

type row = map[string]types.AttributeValue

// TestCheckFindsDamage injects each kind of damage, looks whether it is found,
// and whether it is mended when git has all for it.
func TestCheckFindsDamage(t *testing.T) {
	type damage func(t *testing.T, s *service, w *Workspace)
	// of damages the rows of a partition, in order.
	of := func(partition string, spoil func(t *testing.T, s *service, rows []row)) damage {
		return func(t *testing.T, s *service, w *Workspace) {
			rows := s.rows(t, partition+w.ID)
			slices.SortFunc(rows, func(a, b row) int { return strings.Compare(keyOf(a), keyOf(b)) })
			spoil(t, s, rows)
		}
	}
	without := func(partition string, n int) damage {
		return of(partition, func(t *testing.T, s *service, rows []row) { s.deleteRow(t, rows[n]) })
	}
	// field gives a row the field of the next one.
	field := func(partition string, n int, name string) damage {
		return of(partition, func(t *testing.T, s *service, rows []row) {
			rows[n][name] = rows[n+1][name]
			s.putRow(t, rows[n])
		})
	}
	commit := func(change func(c *repository.Commit)) damage {
		return of("log/", func(t *testing.T, s *service, rows []row) {
			c, rest, err := repository.ReadCommit(rows[2]["c"].(*types.AttributeValueMemberB).Value)
			if err != nil || len(rest) > 0 {
				t.Fatal(err, rest)
			}
			change(&c)
			rows[2]["c"] = &types.AttributeValueMemberB{Value: repository.AppendCommit(nil, c)}
			s.putRow(t, rows[2])
		})
	}
	set := func(partition string, n int, name string, value types.AttributeValue) damage {
		return of(partition, func(t *testing.T, s *service, rows []row) {
			rows[n][name] = value
			s.putRow(t, rows[n])
		})
	}
	packs := func(spoil func(t *testing.T, s *service, w *Workspace, packs []string)) damage {
		return func(t *testing.T, s *service, w *Workspace) {
			packs := must.Get(w.ledger.Packs(ctx))(t)
			spoil(t, s, w, packs)
		}
	}
	for name, c := range map[string]struct {
		found  string
		stays  bool
		damage damage
	}{
		"a row of the log is missing":          {"the row of commit", false, without("log/", 2)},
		"the last row of the log is missing":   {"the row of commit", false, without("log/", 5)},
		"a row of the log is another's":        {"is not in the history", false, field("log/", 2, "c")},
		"a row looks into the wrong pack":      {"wrong about its pack", false, field("log/", 2, "p")},
		"a row of the log is no row":           {"cannot be read", false, set("log/", 2, "c", &types.AttributeValueMemberB{Value: []byte("nonsense")})},
		"a row of an item is missing":          {"of feature-flags/a.json is missing", false, without("item/", 1)},
		"a row of an item is another's":        {"of feature-flags/a.json, which is not in the history", false, field("item/", 1, "c")},
		"a commit of another history":          {"belongs", false, commit(func(c *repository.Commit) { c.SHA = strings.Repeat("cd", 20) })},
		"the head names a commit that is lost": {"git lacks", true, set("head/", 0, "commit", &types.AttributeValueMemberS{Value: strings.Repeat("ab", 20)})},
		"a row of the log tells lies": {"wrong about its author, message", false, commit(func(c *repository.Commit) {
			c.Author.Name, c.Message = "Mallory", "Nothing happened\n"
		})},
		"an id is missing": {"is not found by its id", false, func(t *testing.T, s *service, w *Workspace) {
			rows, head := s.rows(t, "ids/"+w.ID), headOf(t, w)
			s.deleteRow(t, rows[slices.IndexFunc(rows, func(r row) bool { return !strings.HasSuffix(keyOf(r), head) })])
		}},
		"the snapshot is missing": {"snapshot", false, func(t *testing.T, s *service, w *Workspace) {
			if _, err := w.Reindex(ctx, "", Checking{}); err != nil { // which stores one
				t.Fatal(err)
			}
			s.deleteBelow(t, w.prefix()+"snapshots/")
		}},
		"a pack is missing": {"is not in the bucket", true, packs(func(t *testing.T, s *service, w *Workspace, packs []string) {
			s.deleteBelow(t, w.prefix()+"objects/pack/pack-"+packs[0])
		})},
		"a pack is damaged": {"is damaged", true, packs(func(t *testing.T, s *service, w *Workspace, packs []string) { s.damage(t, w, packs[0]) })},
		"a pack was merged, and the table does not know": {"is not in the bucket", false, packs(func(t *testing.T, s *service, w *Workspace, packs []string) {
			must.Get(w.objects.Merge(ctx, packs, 0, nil))(t)
			for _, name := range packs {
				s.deleteBelow(t, w.prefix()+"objects/pack/pack-"+name)
			}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			w := s.create(t, "acme", directory(t, "a"))
			s.edit(t, w, 5)
			clean(t, w)
			c.damage(t, s, w)
			found, left, err := s.workspace(w.Workspace.Workspace).Repair(ctx, Checking{})
			must.Do(t, err)
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

func keyOf(r row) string {
	return r["pk"].(*types.AttributeValueMemberS).Value + r["sk"].(*types.AttributeValueMemberS).Value
}

// damage changes a byte of a pack.
func (s *service) damage(t testing.TB, w *Workspace, pack string) {
	t.Helper()
	path := w.prefix() + odb.PackPath(pack, ".pack")
	content, _, err := s.bucket.Get(ctx, path)
	if err == nil {
		content[len(content)/2] ^= 1
		_, err = s.bucket.Put(ctx, path, bucket.Bytes(content))
	}
	must.Do(t, err)
}

func (s *service) deleteBelow(t testing.TB, prefix string) {
	t.Helper()
	n := 0
	for info, err := range s.bucket.List(ctx, prefix) {
		if err == nil {
			err = s.bucket.Delete(ctx, info.Key)
		}
		must.Do(t, err)
		n++
	}
	if n == 0 {
		t.Fatalf("there is nothing at %s", prefix)
	}
}

func TestMaintain(t *testing.T) {
	s := newSite(t, 0)
	one := s.create(t, "one", directory(t, "a"))
	two := s.create(t, "two", directory(t, "a"))
	s.edit(t, one, 70)
	run := func() []MaintainedWorkspace {
		t.Helper()
		done, err := s.Maintain(ctx, silent)
		if err != nil || len(done) != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		return done
	}
	for _, w := range run() {
		if w.ID == one.ID && (w.Merged < 70 || w.Checked != 71) || w.ID == two.ID && (w.Merged != 0 || w.Checked != 1) || w.Err() != nil {
			t.Errorf("%+v", w)
		}
	}
	for range 2 {
		if again := run(); again[0].Checked+again[1].Checked != 0 {
			t.Errorf("what nobody has changed is checked again: %+v", again)
		}
		s.clock.Pass(25 * time.Hour)
	}
	// What is wrong is told, with every run until it is mended.
	head := must.Get(two.ledger.Head(ctx))(t)
	s.edit(t, two, 2)
	rows := s.rows(t, "log/"+two.ID)
	for _, r := range rows {
		if strings.HasSuffix(r["sk"].(*types.AttributeValueMemberS).Value, head.Commit) {
			s.deleteRow(t, r)
		}
	}
	s.clock.Pass(25 * time.Hour)
	isTold := func() {
		t.Helper()
		done := run()
		if i := slices.IndexFunc(done, func(w MaintainedWorkspace) bool { return w.ID == two.ID }); len(done[i].Problems) == 0 || !strings.Contains(done[i].Err().Error(), "svcadmin fsck") {
			t.Errorf("%+v", done[i])
		}
	}
	isTold()
	isTold()
	// Also when the damage is such that no packs can be listed, and none merged.
	unread := rows[len(rows)-1]
	unread["c"] = &types.AttributeValueMemberB{Value: []byte("nonsense")}
	s.putRow(t, unread)
	isTold()
}

package admin

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// TestTwoRestoresAtOnce of one workspace, of different archives: one of them at most, and
// nothing of the other's.
func TestTwoRestoresAtOnce(t *testing.T) {
	from := newService(t)
	w := from.create(t, "acme", directory(t, "a", "b"))
	furnish(t, from, w)
	first, early := tell(t, w), archive(t, w)
	key(t, w)
	from.edit(t, w, 2)
	second, late := tell(t, w), archive(t, w)
	rounds, ended := 8, 0
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		to := newService(t)
		var group sync.WaitGroup
		var failed [2]error
		for i, text := range [][]byte{early, late} {
			group.Go(func() { _, failed[i] = to.Restore(ctx, bytes.NewReader(text), Restoration{Dir: t.TempDir()}) })
		}
		group.Wait()
		want := first
		switch {
		case failed[0] == nil && failed[1] == nil:
			t.Fatal("both have ended")
		case failed[0] != nil && failed[1] != nil:
			continue
		case failed[1] == nil:
			want = second
		}
		ended++
		found := must.Get(to.Find(ctx, w.ID))(t)
		clean(t, found)
		same(t, tell(t, found), want)
		if rows := to.rows(t, "access/"); len(rows) != len(want.Keys)+len(want.Principals) {
			t.Errorf("%d rows of %d keys and %d principals", len(rows), len(want.Keys), len(want.Principals))
		}
	}
	t.Logf("in %d of %d rounds one has ended", ended, rounds)
}

// TestABackupOfDamage: what lies elsewhere too is found there, and what does not fails the
// backup, which says where to look.
func TestABackupOfDamage(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, 3)
	packs := must.Get(w.ledger.Packs(ctx))(t)
	head := must.Get(w.ledger.Head(ctx))(t)
	if _, err := w.objects.Merge(ctx, packs, head.Fence+1, nil); err != nil { // which the table does not name
		t.Fatal(err)
	}
	s.damage(t, w, packs[0])
	to, text := newService(t), archive(t, w)
	r := must.Get(to.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
	clean(t, r.Workspace)
	stored := must.Get(w.objects.List(ctx))(t)
	for _, name := range stored {
		if name != packs[0] {
			s.damage(t, w, name)
		}
	}
	var b bytes.Buffer
	if _, err := w.Backup(ctx, &b, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "svcadmin fsck tells more") || b.Len() > 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	// In the bucket of the damage a restore makes whole what the archive has.
	damaged := *newService(t).Stores
	damaged.bucket = s.Stores.bucket
	r = must.Get(damaged.Restore(ctx, bytes.NewReader(text), Restoration{}))(t)
	clean(t, r.Workspace)
}

package admin

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// budget is a context whose deadline comes with a request: after so many.
type budget struct {
	context.Context
	mu    sync.Mutex
	left  int
	ended chan struct{}
}

func newBudget(requests int) *budget {
	return &budget{Context: ctx, left: requests, ended: make(chan struct{})}
}

func (b *budget) Done() <-chan struct{} { return b.ended }

func (b *budget) Err() error {
	select {
	case <-b.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (b *budget) spend() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left == 0 {
		close(b.ended)
	}
	return nil
}

// TestMaintenanceGoesOnWhereItStopped: a deadline at any request is no error when something
// was merged, and the runs together do what one would have done. One that comes no further
// is an error, and not repeated for ever.
func TestMaintenanceGoesOnWhereItStopped(t *testing.T) {
	for _, requests := range []int{1, 10, 60, 150, 270} {
		s := newService(t)
		w := s.create(t, "one", directory(t, "a"))
		s.edit(t, w, 70)
		var now *budget
		stores := s.asking(t, func() error { return now.spend() })
		checked, errs := 0, 0
		for more := true; more; {
			now = newBudget(requests)
			done, again, err := stores.MaintainWorkspace(now, access.ID(w.ID), silent)
			if err != nil && (again || done.Merged > 0 || done.Error == "") || len(done.Problems) > 0 {
				t.Fatalf("with %d requests: %+v, %v", requests, done, err)
			}
			if checked, more = max(checked, done.Checked), again; err != nil {
				errs++
				requests, more = requests+400, true // it is tried again
			}
		}
		packs, err := w.ledger.Packs(ctx)
		if err != nil || len(packs) >= compactFrom || checked != 71 || requests < 100 && errs == 0 {
			t.Errorf("%d packs are left, %d commits checked, and %d runs failed, %v", len(packs), checked, errs, err)
		}
		again, more, err := s.MaintainWorkspace(ctx, access.ID(w.ID), silent)
		if err != nil || more || again.Checked != 0 || again.Merged != 0 {
			t.Errorf("once more: %+v, %v, %v", again, more, err)
		}
		clean(t, w)
	}
}

var silent = slog.New(slog.DiscardHandler)

// TestACheckMissesEachRow, wherever it has been.
func TestACheckMissesEachRow(t *testing.T) {
	s := newService(t)
	w := s.create(t, "one", directory(t, "a"))
	s.edit(t, w, 12)
	for _, partition := range []string{"log/", "ids/", "item/"} {
		rows := s.rows(t, partition+w.ID)
		for _, n := range []int{0, len(rows) / 2, len(rows) - 1} {
			s.deleteRow(t, rows[n])
			if found, err := w.Check(ctx, Checking{}); err != nil || len(found.Problems) == 0 {
				t.Errorf("%s row %d is gone: %+v, %v", partition, n, found, err)
			}
			s.putRow(t, rows[n])
		}
	}
	clean(t, w)
}

func headOf(t *testing.T, w *Workspace) string {
	t.Helper()
	head := must.Get(w.ledger.Head(ctx))(t)
	return head.Commit
}

// TestAnIdleWorkspaceCostsTwoReads, once a day has passed in which nothing was written; until
// something is.
func TestAnIdleWorkspaceCostsTwoReads(t *testing.T) {
	s := newSite(t, 0)
	w := s.create(t, "acme", directory(t, "a"))
	s.edit(t, w, compactFrom+6)
	run := func() (MaintainedWorkspace, map[string]int) {
		t.Helper()
		s.asked.Take()
		done, more, err := s.MaintainWorkspace(ctx, access.ID(w.ID), silent)
		if err != nil || more || len(done.Problems) > 0 {
			t.Fatalf("%+v, %v, %v", done, more, err)
		}
		return done, s.asked.Take().Requests()
	}
	least := map[string]int{"GetItem": 1, "GetObject": 1}
	settles := func() (merged, removed, checked int) {
		t.Helper()
		for range 12 {
			done, asked := run()
			if merged, removed, checked = merged+done.Merged, removed+done.Removed, checked+done.Checked; maps.Equal(asked, least) {
				return merged, removed, checked
			}
			s.clock.Pass(6 * time.Hour)
		}
		t.Error("three days later a run still costs more than two reads")
		return merged, removed, checked
	}
	if merged, removed, checked := settles(); merged == 0 || removed == 0 || checked == 0 {
		t.Errorf("%d packs merged, %d removed, %d commits checked", merged, removed, checked)
	}
	s.edit(t, w, 1)
	if _, _, checked := settles(); checked == 0 {
		t.Error("what was written after that was not checked")
	}
	must.Get(w.Reindex(ctx, "", Checking{Dir: t.TempDir()}))(t)
	rows := 0
	for range 8 {
		done, _ := run()
		rows += done.Rows
		s.clock.Pass(6 * time.Hour)
	}
	if settles(); rows == 0 {
		t.Error("rows that a reindex has replaced stay")
	}
}

package admin

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
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

// TestMaintenanceGoesOnWhereItStopped: a deadline at any request is no error,
// and the parts together do what one run would have done.
func TestMaintenanceGoesOnWhereItStopped(t *testing.T) {
	for _, first := range []int{1, 3, 10, 25, 60, 150} {
		s := newService(t)
		w := s.create(t, "one", directory(t, "a"))
		s.edit(t, w, 70)
		var now *budget
		stores := s.asking(t, func() error { return now.spend() })
		requests, parts, merged, checked := first, 0, 0, 0
		for next := (&Resume{Workspace: access.ID(w.ID)}); next != nil; parts++ {
			now = newBudget(requests)
			before := next.Checked
			done, after, err := stores.MaintainPart(now, *next, Maintenance{commits: 10})
			if err != nil || len(done.Problems) > 0 {
				t.Fatalf("part %d of %d requests: %+v, %v", parts, requests, done, err)
			}
			merged, checked = merged+done.Merged, max(checked, done.Checked)
			if after != nil && after.Checked < before {
				t.Errorf("it goes back from %d to %d", before, after.Checked)
			}
			if after != nil && after.Stalled > 0 {
				requests += 400
			}
			next = after
		}
		if parts < 2 && first < 100 {
			t.Errorf("with %d requests it took one part", first)
		}
		if merged < 70 || checked != 71 {
			t.Errorf("after %d parts %d packs are merged, %d commits checked", parts, merged, checked)
		}
		again, next, err := s.MaintainPart(ctx, Resume{Workspace: access.ID(w.ID)}, Maintenance{})
		if err != nil || next != nil || again.Checked != 0 || again.Merged != 0 {
			t.Errorf("once more: %+v, %v, %v", again, next, err)
		}
		clean(t, w)
	}
}

// TestMaintenanceThatComesNoFurtherEnds with an error, and not with one part
// after another for ever.
func TestMaintenanceThatComesNoFurtherEnds(t *testing.T) {
	s := newService(t)
	w := s.create(t, "one", directory(t, "a"))
	var now *budget
	stores := s.asking(t, func() error { return now.spend() })
	next := &Resume{Workspace: access.ID(w.ID)}
	for range maxStalled {
		now = newBudget(1)
		var err error
		if _, next, err = stores.MaintainPart(now, *next, Maintenance{}); err != nil {
			if next != nil || !strings.Contains(err.Error(), "svcadmin fsck") {
				t.Errorf("%+v, %v", next, err)
			}
			return
		}
	}
	t.Errorf("it goes on with %+v", next)
}

// TestACheckInPartsFindsWhatOneFinds, wherever the damage lies and however large
// the parts are.
func TestACheckInPartsFindsWhatOneFinds(t *testing.T) {
	s := newService(t)
	w := s.create(t, "one", directory(t, "a"))
	s.edit(t, w, 12)
	for _, partition := range []string{"log/", "ids/", "item/"} {
		rows := s.rows(t, partition+w.ID)
		for _, n := range []int{0, len(rows) / 2, len(rows) - 1} {
			if sk := rows[n]["sk"].(*types.AttributeValueMemberS).Value; partition == "ids/" && strings.Contains(sk, headOf(t, w)) {
				continue // the head is not looked up by its id
			}
			s.deleteRow(t, rows[n])
			for _, commits := range []int{1, 5, 13, 100} {
				done, next, err := s.MaintainPart(ctx, Resume{Workspace: access.ID(w.ID)}, Maintenance{commits: commits})
				if err != nil || next != nil || len(done.Problems) == 0 {
					t.Errorf("%s row %d is gone, %d at once: %+v, %v, %v", partition, n, commits, done, next, err)
				}
			}
			s.putRow(t, rows[n])
		}
	}
	clean(t, w)
}

func headOf(t *testing.T, w *Workspace) string {
	t.Helper()
	head, err := w.ledger.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
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
		done, next, err := s.MaintainPart(ctx, Resume{Workspace: access.ID(w.ID)}, Maintenance{})
		if err != nil || next != nil || len(done.Problems) > 0 {
			t.Fatalf("%+v, %+v, %v", done, next, err)
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
	if _, err := w.Reindex(ctx, "", Checking{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
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

package dynamo_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
)

func TestAudit(t *testing.T) {
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry {
		table := newTable(t)
		return table.Registry(newWorkspace(t, table)).By("Ada")
	})
}

func TestLastUses(t *testing.T) {
	sent := &requests{}
	table := newTable(t, sent.count)
	ws, other := newWorkspace(t, table), newWorkspace(t, table)
	a, b := newID(t), newID(t)
	sent.take()
	must.Do(t, table.MarkUsed(background, ws, a, "2026-11-21"))
	if took := sent.take(); !slices.Equal(took, []string{"UpdateItem"}) {
		t.Errorf("a use took %v", took)
	}
	for _, day := range []string{"2026-11-22", "2026-11-22", "2026-11-20"} {
		must.Do(t, table.MarkUsed(background, ws, a, day))
	}
	must.Do(t, table.MarkUsed(background, other, b, "2026-11-22"))
	days, err := table.Registry(ws).LastUses(background)
	must.Do(t, err)
	if want := map[access.ID]string{a: "2026-11-22"}; !maps.Equal(days, want) {
		t.Errorf("%v, want %v", days, want)
	}
}

// TestACaptureIsOfOneMoment: a key that was read before it was revoked is read again, where
// the head tells of it.
func TestACaptureIsOfOneMoment(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	ws := newWorkspace(t, table)
	key := admit(t, table, ws)
	f.set("Query", fate{then: func() {
		_, err := table.Registry(ws).RevokeKey(background, key.ID(), noon)
		must.Do(t, err)
	}})
	c, err := table.Capture(background, ws)
	must.Do(t, err)
	head, err := table.Ledger(ws).Head(background)
	must.Do(t, err)
	if len(c.Keys) != 1 || !strings.Contains(string(c.Keys[0]), "revokedAt") || c.Head.Access != head.Access {
		t.Errorf("%s at %d, and the head is at %d", c.Keys, c.Head.Access, head.Access)
	}
}

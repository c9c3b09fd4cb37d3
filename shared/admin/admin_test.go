package admin

import (
	"errors"
	"sync"
	"testing"

	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/versions"
)

// TestTwoApply: of two who began at one head one lands, and the other is told;
// what only keys have changed is no reason.
func TestTwoApply(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	var plans []*provision.Plan
	for _, key := range []string{"x", "y", "z"} {
		dir := directory(t, "a", key)
		other := must.Get(s.Find(ctx, w.ID))(t)
		p := must.Get(other.Plan(ctx, dir, plainPath))(t)
		plans = append(plans, p)
	}
	key(t, w)
	landed, refused := 0, 0
	var lock sync.Mutex
	var all sync.WaitGroup
	for _, p := range plans {
		all.Go(func() {
			_, err := p.Apply(ctx, ada(), "")
			lock.Lock()
			defer lock.Unlock()
			if err == nil {
				landed++
			} else if errors.Is(err, provision.ErrHeadMoved) {
				refused++
			} else {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if landed != 1 || refused != 2 {
		t.Errorf("%d landed, %d were refused", landed, refused)
	}
	clean(t, w)
}

// TestVersionsAreToldOfEveryCommit: else clients take everything again, twice.
func TestVersionsAreToldOfEveryCommit(t *testing.T) {
	s := newService(t)
	w := s.create(t, "acme", directory(t, "a"))
	told := func() string {
		t.Helper()
		head := must.Get(w.ledger.Head(ctx))(t)
		known, found := versions.Find(head.Versions, "production")
		if !found {
			t.Fatal("no versions are told")
		}
		return known.SDK.String()
	}
	first := told()
	must.Get(w.EditEnvironment(ctx, provision.EnvironmentEdit{Name: "qa", Add: true, Did: "added"}, ada()))(t)
	if added := told(); added != first {
		t.Errorf("%s became %s with another environment", first, added)
	}
	must.Get(w.Reindex(ctx, "", Checking{}))(t)
	if again := told(); again != first {
		t.Errorf("%s became %s with new rows", first, again)
	}
}

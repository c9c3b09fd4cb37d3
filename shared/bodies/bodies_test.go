package bodies

import (
	"context"
	"testing"
	"testing/synctest"

	"svc.example/svc/shared/fault"
)

func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		leave, err := b.Take(t.Context(), budget)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Take(t.Context(), small); err != nil {
			t.Errorf("a small body waits: %v", err)
		}
		if _, err := b.Take(t.Context(), small+1); err == nil || fault.Of(err).Kind != fault.Unavailable {
			t.Errorf("a second large body is decoded beside the largest: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Take(gone, budget/2); err == nil {
			t.Error("a body is decoded whose client has gone")
		}
		leave()
		for range 2 {
			if _, err := b.Take(t.Context(), budget/2); err != nil {
				t.Errorf("what fits waits: %v", err)
			}
		}
	})
}

package turns

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/testing/must"
)

// taken is a turn that is waited for.
type taken struct {
	owner string
	leave func()
	err   error
}

// TestOwnersTakeTurns: an owner that asks for much waits for itself, not the others
// for it.
func TestOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := Of(Decoded, Decoded)
		order := make(chan taken, 100)
		ask := func(owner string, size int64) {
			go func() {
				leave, err := turns.Take(t.Context(), owner, size)
				order <- taken{owner, leave, err}
			}()
			synctest.Wait()
		}
		for range 20 {
			ask("greedy", Decoded-Small)
		}
		ask("modest", Decoded-Small)
		ask("other", Decoded-Small)
		for i, want := range []string{"greedy", "modest", "other", "greedy", "greedy"} {
			synctest.Wait()
			select {
			case got := <-order:
				if got.err != nil || got.owner != want {
					t.Fatalf("turn %d is that of %s (%v), not of %s", i, got.owner, got.err, want)
				}
				got.leave()
			default:
				t.Fatalf("turn %d: nobody's", i)
			}
		}
	})
}

// TestAnOwnerHoldsItsShare and no more, however long it stays.
func TestAnOwnerHoldsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := Of(16<<20, 4<<20)
		begin := time.Now()
		for range 4 {
			must.Get(turns.Take(t.Context(), "staller", 1<<20))(t)
		}
		waits := make(chan error)
		go func() {
			_, err := turns.Take(t.Context(), "staller", 1<<20)
			waits <- err
		}()
		synctest.Wait()
		for range 3 {
			if _, err := turns.Take(t.Context(), "other", 1<<20); err != nil || time.Since(begin) > 0 {
				t.Errorf("another waits %v for what one owner holds: %v", time.Since(begin), err)
			}
		}
		if err := <-waits; err == nil || fault.Of(err).Kind != fault.Unavailable || time.Since(begin) != Patience {
			t.Errorf("beyond its share: %v after %v", err, time.Since(begin))
		}
	})
}

// TestATurnThatIsGivenUpIsTheNextOnes.
func TestATurnThatIsGivenUpIsTheNextOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := Of(Decoded, Decoded)
		leave := must.Get(turns.Take(t.Context(), "a", Decoded))(t)
		gone, cancel := context.WithCancel(t.Context())
		results := make(chan error, 2)
		go func() {
			_, err := turns.Take(gone, "b", Decoded)
			results <- err
		}()
		synctest.Wait()
		go func() {
			leave, err := turns.Take(t.Context(), "c", 2*Small)
			if err == nil {
				leave()
			}
			results <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-results; err == nil {
			t.Error("who has gone had a turn")
		}
		leave()
		leave()
		must.Report(t, <-results)
		if !turns.all.TryAcquire(Decoded) || len(turns.owners) > 0 {
			t.Errorf("not all bytes are free, or %d owners are remembered", len(turns.owners))
		}
	})
}

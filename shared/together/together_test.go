package together_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/together"
)

func TestEach(t *testing.T) {
	var done [100]atomic.Bool
	err := together.Each(context.Background(), len(done), func(_ context.Context, i int) error {
		if done[i].Swap(true) {
			t.Errorf("%d was called twice", i)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i := range done {
		if !done[i].Load() {
			t.Errorf("%d was not called", i)
		}
	}
}

// TestTheFirstFailureEndsIt: those under way learn of it, and the rest are not
// begun.
func TestTheFirstFailureEndsIt(t *testing.T) {
	failure := errors.New("no")
	var begun atomic.Int64
	err := together.Each(context.Background(), 1000, func(ctx context.Context, i int) error {
		begun.Add(1)
		if i == 1 {
			return failure
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, failure) || begun.Load() > 100 {
		t.Errorf("%v after %d calls", err, begun.Load())
	}
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(failure)
	err = together.Each(cancelled, 1, func(context.Context, int) error {
		t.Error("it was called though nobody waits for it")
		return nil
	})
	if !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
}

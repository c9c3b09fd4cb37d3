package backoff

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTheBoundDoubles(t *testing.T) {
	b := Backoff{First: 4 * time.Millisecond, Max: 25 * time.Millisecond}
	for try, want := range []time.Duration{4, 8, 16, 25, 25} {
		if got := b.Bound(try); got != want*time.Millisecond {
			t.Errorf("after try %d: %s, want %dms", try, got, want)
		}
		for range 100 {
			if d := b.Delay(try); d < 0 || d >= b.Bound(try) {
				t.Errorf("after try %d: a wait of %s", try, d)
			}
		}
	}
	if got := b.Bound(1 << 40); got != b.Max {
		t.Errorf("after very many tries: %s", got)
	}
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Sleep(context.Background(), 0); err != nil {
		t.Error(err)
	}
}

package backoff

import (
	"context"
	"errors"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
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
	must.Report(t, Sleep(context.Background(), 0))
}

// TestWhatFailsIsDoneLessOften, down to once an hour; what succeeds at every tick.
func TestWhatFailsIsDoneLessOften(t *testing.T) {
	const tick = 2 * time.Second
	const hour = int(time.Hour / tick)
	r := Retry{Backoff: Backoff{First: tick, Max: time.Hour}}
	now := time.Unix(0, 0)
	run := func(ticks int, err error) (ran int) {
		for range ticks {
			if now = now.Add(tick); r.Due(now) {
				ran++
				r.Ended(now, err)
			}
		}
		return ran
	}
	broken := errors.New("broken")
	for i, phase := range []struct {
		ticks int
		err   error
		want  int
	}{
		{hour, nil, hour},
		{hour, broken, 11}, // after 0, 2, 6, 14, … 2046 s
		{20 * hour, broken, 20},
		{2 * hour, nil, 3353}, // the wait after the last failure comes first
		{hour, nil, hour},
		{hour, broken, 11},
	} {
		if got := run(phase.ticks, phase.err); got != phase.want {
			t.Errorf("phase %d: done %d times, want %d", i, got, phase.want)
		}
	}
}

package embedded

import (
	"errors"
	"testing"
)

// TestWhatFailsHasFewerTurns, down to one an hour; what succeeds has all of them.
func TestWhatFailsHasFewerTurns(t *testing.T) {
	const hour = 1800
	s := turns{}
	run := func(ticks int, err error) (ran int) {
		for range ticks {
			if s.due() {
				ran++
				s.ended(err)
			}
		}
		return ran
	}
	broken := errors.New("broken")
	if n := run(hour, nil); n != hour {
		t.Errorf("%d turns in an hour", n)
	}
	if n := run(hour, broken); n < 5 || n > 12 {
		t.Errorf("%d turns in the first hour of failures", n)
	}
	if n := run(20*hour, broken); n < 15 || n > 25 {
		t.Errorf("%d turns in the next 20 hours", n)
	}
	run(2*hour, nil)
	if n := run(hour, nil); n != hour {
		t.Errorf("%d turns in an hour, once it succeeded", n)
	}
}

package parallel

import (
	"sync/atomic"
	"testing"
)

func TestEachIsDoneOnce(t *testing.T) {
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 10*chunk + 7} {
		done := make([]atomic.Int32, n)
		Each(n, func(i int) { done[i].Add(1) })
		for i := range done {
			if times := done[i].Load(); times != 1 {
				t.Fatalf("of %d things, number %d is done %d times", n, i, times)
			}
		}
	}
}

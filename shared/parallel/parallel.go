// Package parallel does many small things on all processors.
package parallel

import (
	"runtime"

	"golang.org/x/sync/errgroup"
)

// chunk is how many things are done one after the other. So few are not worth
// another goroutine.
const chunk = 128

// Chunks does n things, in pieces from one number to before another, as many pieces
// at a time as there are processors. It returns when all are done.
func Chunks(n int, do func(from, to int)) {
	if n <= chunk {
		do(0, n)
		return
	}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += chunk {
		all.Go(func() error {
			do(from, min(n, from+chunk))
			return nil
		})
	}
	_ = all.Wait() // nothing fails
}

// Each does n things, each told by its number.
func Each(n int, do func(i int)) {
	Chunks(n, func(from, to int) {
		for i := from; i < to; i++ {
			do(i)
		}
	})
}

// Package parallel does many small things on all processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many things are done one after the other. So few are not worth
// another goroutine.
const chunk = 128

// Chunks does n things, in pieces from one number to before another: each piece by
// one goroutine, those of many things by as many as there are processors. It
// returns when all are done.
func Chunks(n int, do func(from, to int)) {
	if n <= chunk {
		do(0, n)
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		all.Go(func() {
			for {
				from := int(next.Add(chunk)) - chunk
				if from >= n {
					return
				}
				do(from, min(n, from+chunk))
			}
		})
	}
	all.Wait()
}

// Each does n things, each told by its number.
func Each(n int, do func(i int)) {
	Chunks(n, func(from, to int) {
		for i := from; i < to; i++ {
			do(i)
		}
	})
}

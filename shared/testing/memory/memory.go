// Package memory measures what a program holds, for tests that bound it.
package memory

import (
	"runtime"
	"time"
)

// InUse is how many bytes of the heap are in use once collecting frees no more
// of it. What pools hold goes with the second collection, and what is taken out
// of tables when nothing else holds it goes some time after one.
func InUse() int64 {
	least, same := inUse(), 0
	for range 50 {
		time.Sleep(time.Millisecond)
		now := inUse()
		if least-now < tolerance {
			same++
		} else {
			same = 0
		}
		least = min(least, now)
		if same == 3 {
			break
		}
	}
	return least
}

const tolerance = 16 << 10

func inUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

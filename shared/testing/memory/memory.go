// Package memory measures what a program holds, for tests that bound it.
package memory

import "runtime"

// InUse is how many bytes of the heap are in use after a collection. It collects
// twice: what pools hold goes with the second one.
func InUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

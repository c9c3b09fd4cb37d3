// Package heap keeps a program's heap small: how far it may grow before garbage
// is collected, and at which size the collector works harder rather than let it
// grow.
//
// What a server here has in use are mostly texts, which cost the collector
// nothing to look through. So it collects at a third more than what is in use, a
// function at a fifth, and not at the double as Go does by itself: a little more
// work for a peak that is a third lower, and the peak is what counts where memory
// is limited. A function answers one request at a time, and has less to collect.
//
// GOGC and GOMEMLIMIT are obeyed instead where they are set.
package heap

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// By how much the heap may outgrow what is in use, in percent.
const (
	growth         = 30
	functionGrowth = 20
)

// Within keeps the heap of a function below the memory, in bytes, above which it
// is killed.
func Within(memory int64) {
	limitGrowth(functionGrowth)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit(memory))
	}
}

// programBytes are the pages of the program itself, which Go's limit does not
// count.
const programBytes = 16 << 20

// softLimit leaves a tenth for what the collector is late with.
func softLimit(memory int64) int64 { return memory - memory/10 - programBytes }

// WithinContainer keeps the heap below the limit of the container that the
// program runs in, if it has one.
func WithinContainer() {
	limitGrowth(growth)
	_, _ = memlimit.Set() // without a limit it leaves things as they are
}

func limitGrowth(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// textsShare of a function's memory, one in so many, may be the documents of a
// workspace: held as texts, compiled and on their way in an answer they take some
// three quarters of it.
const textsShare = 8

// Texts is how many bytes the documents of a workspace may have together for a
// function of so much memory, in bytes, to take writes to it.
func Texts(memory int64) int64 { return memory / textsShare }

// MemorySizeFor is the MemorySize of functions, in MB, that documents of so many
// bytes together need.
func MemorySizeFor(texts int64) int64 { return (texts*textsShare + 1<<20 - 1) >> 20 }

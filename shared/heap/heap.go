// Package heap keeps a program's heap small: how far it may grow before garbage
// is collected, and at which size the collector works harder rather than let it
// grow.
//
// What is in use here are mostly texts, which cost the collector nothing to look
// through. So a server collects at half more than what is in use, a function, which
// answers one request at a time, at a fifth, and not at the double as Go does by
// itself: the peak is what counts where memory is limited.
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
	growth         = 50
	functionGrowth = 20
)

// Within keeps the heap of a function below the memory, in bytes, above which it
// is killed.
func Within(memory int64) {
	collectAt(functionGrowth)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit(memory))
	}
}

// WithinContainer keeps the heap of a server below the limit of the container that it
// runs in, if it has one.
func WithinContainer() {
	collectAt(growth)
	_, _ = memlimit.Set() // without a limit it leaves things as they are
}

func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// programBytes are the pages of the program itself, which Go's limit does not
// count.
const programBytes = 16 << 20

// softLimit leaves a tenth for what the collector is late with.
func softLimit(memory int64) int64 { return memory - memory/10 - programBytes }

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

// tableShare of a function's memory, one in so many, may be what an environment
// serves once it is compiled. With the texts of its workspace, one of them
// decoded and what another environment serves, it leaves a quarter to the
// requests at work.
const tableShare = 4

// Table is how many bytes what an environment serves may take in a function of so
// much memory, in bytes.
func Table(memory int64) int64 { return memory / tableShare }

// MemorySizeForTable is the MemorySize of functions, in MB, that so many bytes
// need.
func MemorySizeForTable(bytes int64) int64 { return (bytes*tableShare + 1<<20 - 1) >> 20 }

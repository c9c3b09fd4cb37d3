// Package heap keeps a program's heap small: how far it may grow before garbage
// is collected, and at which size the collector works harder rather than let it
// grow.
//
// What a server here has in use are mostly texts, which cost the collector
// nothing to look through. So it collects at a third more than what is in use, a
// function at a fifth, and not at the double as Go does by itself: a little more
// work for a peak that is a third lower, and the peak is what counts where memory
// is limited. A function answers one request at a time, and has less to collect.
// A server with little in use would collect all the time that way: as long as it is
// small, its heap has room for some garbage. While it starts, it has room for more garbage,
// and collects at the double at the earliest: to look again and again through what is being
// loaded takes longer than to load it.
//
// GOGC and GOMEMLIMIT are obeyed instead where they are set.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// By how much the heap may outgrow what is in use, in percent.
const (
	growth         = 30
	functionGrowth = 20
	loadingGrowth  = 100
)

// How many bytes of garbage a server may make between two collections before it has
// to keep to growth, and how many while it loads what it will serve.
const (
	room        = 16 << 20
	loadingRoom = 48 << 20
)

// Within keeps the heap of a function below the memory, in bytes, above which it
// is killed.
func Within(memory int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(functionGrowth)
	}
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
// program runs in, if it has one. The program is taken to load what it will serve
// until it calls loaded.
func WithinContainer() (loaded func()) {
	_, _ = memlimit.Set() // without a limit it leaves things as they are
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var f follower
	f.follow()
	return func() {
		f.loaded.Store(true)
		f.set()
	}
}

// follower sets, after each collection, how far the heap may grow until the next
// one, by what was found to be in use.
type follower struct{ loaded atomic.Bool }

func (f *follower) follow() {
	f.set()
	collected := new(*int) // a pointer: tiny objects share their end with others
	runtime.AddCleanup(collected, (*follower).follow, f)
}

func (f *follower) set() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // as the last collection found
	metrics.Read(live)
	debug.SetGCPercent(serverGrowth(live[0].Value.Uint64(), f.loaded.Load()))
}

// goHeap is below how many bytes Go collects nothing at a growth of 100 percent.
const goHeap = 4 << 20

// serverGrowth is the percentage by which a heap with so many bytes in use may
// grow.
func serverGrowth(inUse uint64, loaded bool) int {
	if loaded {
		return int(max(growth, 100*room/max(inUse, goHeap)))
	}
	return int(max(loadingGrowth, 100*loadingRoom/max(inUse, goHeap)))
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

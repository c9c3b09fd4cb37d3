package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestTheSoftLimitLeavesRoom(t *testing.T) {
	for megabytes, want := range map[int64]int64{128: 99, 256: 214, 512: 444, 3008: 2691} {
		if got := softLimit(megabytes<<20) >> 20; got != want {
			t.Errorf("%d MB: %d MB, want %d", megabytes, got, want)
		}
	}
}

func TestWhatIsSetIsObeyed(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)
	t.Setenv("GOGC", "off")
	t.Setenv("GOMEMLIMIT", "10GiB")
	Within(256 << 20)
	if percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); percent != 100 || limit != math.MaxInt64 {
		t.Errorf("%d percent, %d bytes", percent, limit)
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	Within(256 << 20)
	if percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); percent != functionGrowth || limit != softLimit(256<<20) {
		t.Errorf("%d percent, %d bytes", percent, limit)
	}
}

// A server that serves little would otherwise collect garbage with every hundred
// requests.
func TestASmallHeapGrowsAsGoLetsIt(t *testing.T) {
	for megabytes, want := range map[uint64]int{0: 100, 1: 100, 4: 100, 8: 50, 12: 33, 20: 30, 500: 30} {
		if got := serverGrowth(megabytes << 20); got != want {
			t.Errorf("%d MB in use: %d percent, want %d", megabytes, got, want)
		}
	}
}

func TestTheGrowthFollowsWhatIsInUse(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	t.Setenv("GOGC", "")
	WithinContainer()
	if small := currentGrowth(); small != goGrowth {
		t.Errorf("%d percent for a small heap", small)
	}
	held := make([]byte, 64<<20)
	waitForGrowth(t, growth)
	runtime.KeepAlive(held)
	held = nil
	waitForGrowth(t, goGrowth)
}

// waitForGrowth collects garbage until the heap may grow by so many percent.
func waitForGrowth(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); currentGrowth() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still %d percent, want %d", currentGrowth(), want)
		}
		runtime.GC()
	}
}

func currentGrowth() int {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return int(percent[0].Value.Uint64())
}

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
func TestASmallHeapHasRoom(t *testing.T) {
	for megabytes, want := range map[uint64]int{0: 400, 4: 400, 16: 100, 32: 50, 48: 33, 80: 30, 500: 30} {
		if got := serverGrowth(megabytes<<20, true); got != want {
			t.Errorf("%d MB in use: %d percent, want %d", megabytes, got, want)
		}
	}
}

func TestThereIsRoomForWhatLoadingLeaves(t *testing.T) {
	for megabytes, want := range map[uint64]int{0: 1200, 4: 1200, 16: 300, 48: 100, 500: 100} {
		if got := serverGrowth(megabytes<<20, false); got != want {
			t.Errorf("%d MB in use: %d percent, want %d", megabytes, got, want)
		}
	}
}

func TestTheGrowthFollowsWhatIsInUse(t *testing.T) {
	percent := debug.SetGCPercent(100)
	defer debug.SetGCPercent(percent)
	t.Setenv("GOGC", "")
	loaded := WithinContainer()
	if loading := currentGrowth(); loading != 100*loadingRoom/goHeap {
		t.Errorf("%d percent while something is loaded", loading)
	}
	loaded()
	if small := currentGrowth(); small != 100*room/goHeap {
		t.Errorf("%d percent for a small heap", small)
	}
	held := make([]byte, 64<<20)
	waitForGrowth(t, growth)
	runtime.KeepAlive(held)
	held = nil
	waitForGrowth(t, 100*room/goHeap)
}

// waitForGrowth collects garbage until the heap may grow by so many percent.
func waitForGrowth(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); currentGrowth() != want; time.Sleep(time.Millisecond) {
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

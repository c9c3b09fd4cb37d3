package heap

import (
	"math"
	"runtime/debug"
	"testing"
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
	WithinContainer()
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

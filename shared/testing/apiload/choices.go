package apiload

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed chooses what a test's choices come from.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("SVC_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	t.Logf("SVC_TEST_SEED=%d makes the same choices", seed)
	return seed
}

// Random are the choices of one of those who act in a test.
func Random(seed uint64, who int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(who)))
}

func OneOf[T any](r *rand.Rand, choices ...T) T {
	return choices[r.IntN(len(choices))]
}

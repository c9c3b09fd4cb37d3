package engine

import (
	"errors"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// Test is the engine that runs on this machine, or one of the test's own. The
// test is skipped where there can be none.
func Test(t testing.TB) *Engine {
	t.Helper()
	e, err := Running(t.Context())
	if errors.Is(err, ErrNone) {
		t.Logf("%v; starting one", err)
		e, err = Start(t.Context())
	}
	if errors.Is(err, ErrNone) {
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

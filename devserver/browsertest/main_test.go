package browsertest

import (
	"os"
	"testing"
	"time"

	"svc.example/svc/shared/testing/svcbinary"
)

func TestMain(m *testing.M) {
	os.Exit(svcbinary.Run(func() int {
		defer closeBrowser()
		return m.Run()
	}))
}

// binary is the svc that the tests start.
func binary(t *testing.T) string {
	t.Helper()
	path, err := svcbinary.Watched()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// patience is how long a test waits for what it expects.
const patience = time.Minute

// eventually waits until check is satisfied. Until then check says what it
// found instead.
func eventually(t *testing.T, what string, check func() (found any, done bool)) {
	t.Helper()
	var found any
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var done bool
		if found, done = check(); done {
			return
		}
	}
	t.Fatalf("%s: not within %s, but %v", what, patience, found)
}

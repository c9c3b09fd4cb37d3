package browsertest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/shared/testing/svcbinary"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "3") // whatever others are: a tab keeps half of a core busy
	os.Exit(svcbinary.Run(func() int {
		defer closeBrowser()
		os.Setenv("XDG_STATE_HOME", filepath.Join(svcbinary.Folder(), "state"))
		return m.Run()
	}))
}

// svc runs a command, and returns what it prints.
func svc(t *testing.T, args ...string) string {
	t.Helper()
	out, err := svcbinary.Do(args...)
	must(t, err)
	return out
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

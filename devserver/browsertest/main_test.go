package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	// The binary is made of this package. Importing it makes the go command
	// run the tests again when the server's code has changed.
	_ "svc.example/svc/devserver/command"
)

// binary is the svc that the tests start.
var binary string

// scratch is a folder of this run.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "svc-browsertest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	binary = filepath.Join(scratch, "svc.exe") // Windows insists on the ending
	args := append([]string{"build", "-o", binary}, buildFlags...)
	build := exec.Command("go", append(args, "svc.example/svc/devserver/svc")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, out)
		return 1
	}
	defer closeBrowser()
	return m.Run()
}

// patience is how long a test waits for what it expects.
const patience = 30 * time.Second

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

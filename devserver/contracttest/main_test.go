package contracttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	// The binary is made of this package. Importing it makes the go command
	// run the tests again when the server's code has changed.
	_ "svc.example/svc/devserver/command"
)

// scratch is a folder of this run.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "svc-contracttest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// binary is the svc that the tests start.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "svc.exe") // Windows insists on the ending
	args := append([]string{"build", "-o", path}, buildFlags...)
	build := exec.Command("go", append(args, "svc.example/svc/devserver/svc")...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	return path, nil
})

// patience is how long one program may take before its test fails. It is a
// way out for a program that hangs, not a measure.
const patience = 5 * time.Minute

// program prepares a program that ends with its test.
func program(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	cmd.WaitDelay = time.Second
	return cmd
}

// succeed runs a program to its end and returns what it printed.
func succeed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

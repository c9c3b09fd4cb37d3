package contracttest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

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

package apitest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	// The binary is made of this package. Importing it makes the go command
	// run the tests again when the server's code has changed.
	_ "svc.example/svc/devserver/command"
	"svc.example/svc/shared/apiload"
)

// scratch is a folder of this run, for the binaries.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "svc-apitest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// watched is the svc that the tests start: with the race detector, if the
// tests have it. swift is without, for the one that starts it hundreds of
// times.
var (
	watched = sync.OnceValues(func() (string, error) { return build("svc-watched.exe", buildFlags...) })
	swift   = sync.OnceValues(func() (string, error) { return build("svc-swift.exe") })
)

func build(name string, flags ...string) (string, error) {
	path := filepath.Join(scratch, name) // Windows insists on the ending
	cmd := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "svc.example/svc/devserver/svc")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return path, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func background(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*apiload.Patience)
	t.Cleanup(cancel)
	return ctx
}

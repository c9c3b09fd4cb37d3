package browsertest

import (
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// serve starts svc serve on a free port and returns the port. The server is
// stopped by a signal when the test ends, and must then exit with status 0.
func serve(t *testing.T, datadir string, flags ...string) string {
	t.Helper()
	for range 3 { // another program may take a free port first
		port := freeport.Take()
		problem := start(t, datadir, port, flags...)
		if problem == "" {
			return port
		}
		if !strings.Contains(problem, "is taken") {
			t.Fatalf("svc serve %v: %s", flags, problem)
		}
	}
	t.Fatal("no free port")
	return ""
}

// start starts svc serve on a port, or says what it printed instead of its
// start-up lines.
func start(t *testing.T, datadir, port string, flags ...string) (problem string) {
	t.Helper()
	return launch(t, append([]string{"serve", "--datadir", datadir, "--port", port}, flags...)...)
}

// launch starts a server, which is stopped by a signal when the test ends, or
// says what it printed instead of its start-up lines.
func launch(t *testing.T, args ...string) (problem string) {
	t.Helper()
	server, err := svcbinary.Here(args...)
	if err != nil {
		return err.Error()
	}
	if slices.Contains(args, "--console") && !slices.Contains(args, "--url") {
		opensConsole(t, server)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		} else if t.Failed() {
			t.Logf("svc %s:\n%s", args[0], server.Log)
		}
	})
	return ""
}

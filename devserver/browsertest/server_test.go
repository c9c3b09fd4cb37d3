package browsertest

import (
	"slices"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// serve starts svc serve on a free port and returns the port. The server is
// told to stop when the test ends, and must then end with status 0.
func serve(t *testing.T, datadir string, flags ...string) string {
	t.Helper()
	port := freeport.Take()
	if problem := start(t, datadir, port, flags...); problem != "" {
		t.Fatalf("svc serve %v: %s", flags, problem)
	}
	return port
}

// start starts svc serve on a port, or says what it printed instead of its
// start-up lines.
func start(t *testing.T, datadir, port string, flags ...string) (problem string) {
	t.Helper()
	return launch(t, append([]string{"serve", "--datadir", datadir, "--port", port}, flags...)...)
}

// launch starts a server, which is told to stop when the test ends, or
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

package browsertest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serve starts svc serve on a free port and returns the port. The server is
// stopped by a signal when the test ends, and must then exit with status 0.
func serve(t *testing.T, datadir string, flags ...string) string {
	t.Helper()
	for range 3 { // another program may take a free port first
		port := freePort(t)
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
	var stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	// A program with the race detector otherwise waits a second before it ends.
	cmd.Env = append(os.Environ(), "SVC_ENVIRONMENT=", "SVC_DIR=", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = io.MultiWriter(&stderr, t.Output())
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening := bufio.NewScanner(stdout)
	impatient := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	up := listening.Scan()
	impatient.Stop()
	if !up {
		cmd.Wait()
		return stderr.String()
	}
	t.Cleanup(func() { stop(t, cmd) })
	return ""
}

func stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Process.Signal(os.Interrupt)
	impatient := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer impatient.Stop()
	if err := cmd.Wait(); err != nil {
		t.Errorf("svc %s, told to stop: %v", cmd.Args[1], err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

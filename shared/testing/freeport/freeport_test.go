package freeport

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

const child = "SVC_FREEPORT_CHILD"

// TestNobodyElseGetsAPort, in this process or another, while its server is down.
func TestNobodyElseGetsAPort(t *testing.T) {
	if text := os.Getenv(child); text != "" {
		if port, err := strconv.Atoi(text); err != nil || reserve(port) {
			t.Errorf("the port %q is another process's: %v", text, err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("a port is kept on Linux alone")
	}
	text := Take()
	if port, err := strconv.Atoi(text); err != nil || reserve(port) {
		t.Errorf("the port %q is taken: %v", text, err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNobodyElseGetsAPort$")
	cmd.Env = append(os.Environ(), child+"="+text)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

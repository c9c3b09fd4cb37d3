package freeport

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestAServerIsStartedAgainOnItsPort at whatever address of this machine, and refuses
// while it is down.
func TestAServerIsStartedAgainOnItsPort(t *testing.T) {
	port := Take()
	for range 2 {
		for _, host := range []string{"127.0.0.1", "0.0.0.0", "localhost"} {
			l, err := net.Listen("tcp", net.JoinHostPort(host, port))
			if err != nil {
				t.Fatalf("a server at %s: %v", host, err)
			}
			s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.NotFoundHandler()}}
			s.Start()
			if _, err := http.Get("http://127.0.0.1:" + port); err != nil {
				t.Errorf("a server at %s: %v", host, err)
			}
			s.Close()
			if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				t.Error("somebody answers while the server is down")
				c.Close()
			}
		}
	}
}

const child = "SVC_FREEPORT_CHILD"

// TestNobodyElseGetsAPort, in this process or another, while its server is down.
func TestNobodyElseGetsAPort(t *testing.T) {
	if text := os.Getenv(child); text != "" {
		port, err := strconv.Atoi(text)
		if err != nil || reserve(port) {
			t.Errorf("the port %q is another process's: %v", text, err)
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("a port is kept on Linux alone")
	}
	text := Take()
	port, err := strconv.Atoi(text)
	if err != nil || reserve(port) {
		t.Errorf("the port %q is taken: %v", text, err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNobodyElseGetsAPort$")
	cmd.Env = append(os.Environ(), child+"="+text)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

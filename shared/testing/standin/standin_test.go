package standin_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// TestNoServerOutlivesItsProcess kills a process that has started a server.
func TestNoServerOutlivesItsProcess(t *testing.T) {
	if os.Getenv("STANDIN_CHILD") != "" {
		t.Setenv(standin.S3Variable, "")
		endpoint := standin.S3(t)
		os.Stdout.WriteString("endpoint=" + endpoint + "\n")
		select {}
	}
	standin.S3(t) // or skip
	temp := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestNoServerOutlivesItsProcess$")
	child.Env = append(os.Environ(), "STANDIN_CHILD=1", "TMPDIR="+temp)
	out := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	defer child.Wait() //nolint:errcheck // it was killed
	defer child.Process.Kill()
	var endpoint string
	for lines := bufio.NewScanner(out); endpoint == "" && lines.Scan(); {
		_, endpoint, _ = strings.Cut(lines.Text(), "endpoint=http://")
	}
	if !listens(endpoint) {
		t.Fatalf("nothing listens at %q", endpoint)
	}
	must.Do(t, child.Process.Kill())
	left := func() int {
		found, _ := filepath.Glob(filepath.Join(temp, "*"))
		return len(found)
	}
	for range 3000 {
		if !listens(endpoint) && left() == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("after its process was killed the server listens: %v; files are left: %d", listens(endpoint), left())
}

func listens(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

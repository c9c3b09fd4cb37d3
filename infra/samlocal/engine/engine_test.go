package engine

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/testenv"
)

// own starts an engine, whether one runs already or not. Where one runs, there
// is no need of another.
func own(t *testing.T) *Engine {
	t.Helper()
	e, err := Start(t.Context())
	if errors.Is(err, ErrNone) {
		if _, none := Running(t.Context()); none == nil {
			t.Skip(err)
		}
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// image imports an image that holds a program of testdata, as /program.
func image(t *testing.T, e *Engine, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./testdata/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: "program", Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tag := "svc-test-" + name + ":latest"
	if err := e.Import(t.Context(), tag, &archive); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = e.docker(context.WithoutCancel(t.Context()), nil, "image", "rm", "--force", tag) // the engine may have ended
	})
	return tag
}

func TestAnEngineOfOnesOwn(t *testing.T) {
	forwarding := forwards()
	e := own(t)
	if now := forwards(); now != forwarding {
		t.Errorf("the machine forwards packets: %q, before %q", now, forwarding)
	}
	asker := image(t, e, "ask")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") }))
	defer server.Close()
	reachable, err := e.Reach(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := e.Reach(server.URL); again != reachable || err != nil {
		t.Errorf("the same server is reached at %s, then at %s (%v)", reachable, again, err)
	}
	ask := func(url string) string {
		out, err := e.docker(t.Context(), nil, "run", "--rm", "--memory=64m", asker, "/program", url)
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	if out := ask(reachable); out != "200 answered" {
		t.Errorf("a container asked a server of this machine: %s", out)
	}
	if out := ask(server.URL); !strings.Contains(out, "connection refused") {
		t.Errorf("a container's loopback interface is this machine's: %s", out)
	}
	dir, bridge := directory(e), bridgeAt(t, e.gateway)
	e.Close()
	if _, err := http.Get(reachable); err == nil {
		t.Error("the relay goes on")
	}
	if left := remains(dir, bridge); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestInAContainer: where the directory for temporary files is itself an
// overlay, overlays over it are impossible, and an engine starts all the same.
func TestInAContainer(t *testing.T) {
	own(t).Close() // or skip
	dir, err := os.MkdirTemp("", "svc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"lower", "upper", "work", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(dir, "tmp")
	if out, err := exec.Command("mount", "-t", "overlay", "overlay", "-o", "lowerdir="+dir+"/lower,upperdir="+dir+"/upper,workdir="+dir+"/work", tmp).CombinedOutput(); err != nil {
		t.Skipf("it is one already: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", tmp).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Setenv("TMPDIR", tmp)
	e := own(t)
	defer e.Close()
	if out, err := e.docker(t.Context(), nil, "info", "--format", "{{.Driver}}"); err != nil || strings.TrimSpace(string(out)) != "vfs" {
		t.Errorf("its files are in %s (%v)", out, err)
	}
	if out, err := e.docker(t.Context(), nil, "run", "--rm", image(t, e, "hungry"), "/program", "1"); err != nil || string(out) != "took 1 MB\n" {
		t.Errorf("a container said %q: %v", out, err)
	}
}

// TestMemoryIsEnforced: what SAM asks of an engine must bite.
func TestMemoryIsEnforced(t *testing.T) {
	e := Test(t)
	hungry := image(t, e, "hungry")
	for memory, want := range map[string]string{"64m": "exit status 137", "512m": "took 200 MB"} {
		out, err := e.docker(t.Context(), nil, "run", "--rm", "--memory="+memory, hungry, "/program", "200")
		if said := string(out); err != nil {
			said = err.Error()
			if !strings.Contains(said, want) {
				t.Errorf("200 MB in %s: %s", memory, said)
			}
		} else if !strings.Contains(said, want) {
			t.Errorf("200 MB in %s: %s, want %s", memory, said, want)
		}
	}
}

// TestNoEngineOutlivesItsProcess kills a process that has started an engine.
func TestNoEngineOutlivesItsProcess(t *testing.T) {
	if os.Getenv("ENGINE_CHILD") != "" {
		e := own(t)
		if _, err := e.docker(t.Context(), nil, "run", "--detach", image(t, e, "hungry"), "/program", "1", "forever"); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("engine=" + directory(e) + " " + bridgeAt(t, e.gateway) + "\n")
		select {}
	}
	own(t).Close() // or skip
	// Not t.TempDir, whose long name sockets cannot have.
	temp, err := os.MkdirTemp("", "svc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	child := exec.Command(os.Args[0], "-test.run=^TestNoEngineOutlivesItsProcess$")
	child.Env = append(os.Environ(), "ENGINE_CHILD=1", "TMPDIR="+temp)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() //nolint:errcheck // it was killed
	defer child.Process.Kill()
	var found string
	for lines := bufio.NewScanner(out); found == "" && lines.Scan(); {
		_, found, _ = strings.Cut(lines.Text(), "engine=")
	}
	dir, bridge, _ := strings.Cut(found, " ")
	if remains(dir, bridge) == "" {
		t.Fatalf("no engine runs: %q", found)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); remains(dir, bridge) != ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", remains(dir, bridge))
		}
	}
}

// forwards says whether this machine forwards packets between networks.
func forwards() string {
	text, _ := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	return string(text)
}

func directory(e *Engine) string {
	return filepath.Dir(strings.TrimPrefix(e.Host, "unix://"))
}

func bridgeAt(t *testing.T, gateway netip.Addr) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if strings.HasPrefix(a.String(), gateway.String()+"/") {
				return i.Name
			}
		}
	}
	t.Fatalf("no interface has %s", gateway)
	return ""
}

// remains says what is left of an engine.
func remains(dir, bridge string) string {
	var left []string
	if _, err := os.Stat(dir); err == nil {
		left = append(left, dir)
	}
	if _, err := net.InterfaceByName(bridge); err == nil {
		left = append(left, "the bridge "+bridge)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if text, _ := os.ReadFile(p); bytes.Contains(text, []byte(dir+"/")) {
			left = append(left, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return strings.Join(left, ", ")
}

// TestTheRelayTakesOnlyContainers: other machines may have a route to it.
func TestTheRelayTakesOnlyContainers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answered") }))
	defer server.Close()
	for from, reached := range map[string]bool{"127.0.0.0/8": true, "198.18.0.0/24": false} {
		r, err := newRelay(netip.MustParseAddr("127.0.0.1"), netip.MustParsePrefix(from), server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Get("http://" + r.listener.Addr().String())
		if (err == nil) != reached {
			t.Errorf("from 127.0.0.1, with %s let in: %v", from, err)
		}
		if err == nil {
			_ = response.Body.Close()
		}
		r.close()
	}
}

func TestReach(t *testing.T) {
	virtual := &Engine{}
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:8000":       "http://host.docker.internal:8000",
		"http://localhost:8000/path":  "http://host.docker.internal:8000/path",
		"https://other.example:443":   "https://other.example:443",
		"http://127.0.0.1":            "",
		"127.0.0.1:8000":              "",
		"http://[::1]:8000":           "http://host.docker.internal:8000",
		"http://198.51.100.7:9000/s3": "http://198.51.100.7:9000/s3",
	} {
		if got, err := virtual.Reach(endpoint); got != want || (err == nil) != (want != "") {
			t.Errorf("%s is reached at %q (%v), want %q", endpoint, got, err, want)
		}
	}
}

func TestOtherMachinesEnginesAreNotUsed(t *testing.T) {
	for host, usable := range map[string]bool{
		"unix:///var/run/docker.sock":    true,
		"npipe:////./pipe/docker_engine": true,
		"tcp://127.0.0.1:2375":           true,
		"tcp://192.0.2.7:2375":           false,
		"ssh://me@build.example":         false,
	} {
		if local(host) != usable {
			t.Errorf("%s: %v", host, local(host))
		}
	}
}

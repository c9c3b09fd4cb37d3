// Package docker gives tests a Docker engine: the one that runs on this machine, or
// on Linux, as root, one of the test's own (Debian's docker.io and iproute2).
//
// What must stay true: an engine of the test's own has a bridge and a directory of
// its own and no way to other networks, and ends with the process that started it,
// however that ends.
package docker

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// Engine is a Docker engine.
type Engine struct {
	host    string // as in DOCKER_HOST; "" is the one of the docker command
	gateway string // this machine's address for containers; "" where the engine runs in a virtual machine
}

// New is the engine that runs on this machine, or one of the test's own. The test is
// skipped where there can be none.
func New(t testing.TB) *Engine {
	t.Helper()
	e := &Engine{host: os.Getenv("DOCKER_HOST")}
	if host, err := e.run(nil, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"); err == nil {
		e.host = host
	}
	if _, err := e.run(nil, "info"); err != nil {
		e = start(t)
	}
	for _, own := range addresses() {
		if at, _ := e.run(nil, "network", "inspect", "bridge", "--format", "{{range .IPAM.Config}}{{.Gateway}}{{end}}"); at == own.Addr().String() {
			e.gateway = at
		}
	}
	return e
}

// addresses are this machine's own.
func addresses() (all []netip.Prefix) {
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// guard runs a bridge and an engine on it until its input ends, and removes what is left.
const guard = `trap '' INT HUP
bridge=$1 address=$2 dir=$3; shift 3
exec 3<&0
ip link add name "$bridge" type bridge && ip address add "$address" dev "$bridge" && ip link set "$bridge" up
dockerd "$@" </dev/null 3<&- >"$dir/log" 2>&1 &
engine=$!
(cat <&3 >/dev/null; kill $engine) &
watch=$!
wait $engine
kill -9 $watch
ip link delete "$bridge"
grep -F " $dir/" /proc/mounts | cut -d ' ' -f 2 | while read -r mounted; do umount -l "$mounted"; done
rm -rf --one-file-system "$dir"
`

// start starts an engine of the test's own.
func start(t testing.TB) *Engine {
	t.Helper()
	if os.Getuid() != 0 {
		testenv.Skip(t, "no Docker engine answers, and only root may start one")
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin") // where Debian has them
	testenv.Program(t, "apt-get install docker.io", "dockerd")
	testenv.Program(t, "apt-get install docker.io, or docker-cli", "docker")
	testenv.Program(t, "apt-get install iproute2", "ip")
	// Files over files is quicker, and impossible where the directory is already
	// such, in a container.
	for _, storage := range []string{"overlay2", "vfs"} {
		if e := startOn(t, storage); e != nil {
			return e
		}
	}
	t.Fatal("no Docker engine starts")
	return nil
}

func startOn(t testing.TB, storage string) *Engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "svc-docker-") // sockets cannot have t.TempDir's long name
	must.Do(t, err)
	id := strings.ToLower(rand.Text()[:8])
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte("{}"), 0o600); err != nil { // instead of the machine's own
		t.Fatal(err)
	}
	e := &Engine{host: "unix://" + dir + "/docker.sock"}
	cmd := exec.Command("/bin/sh", "-c", guard, "sh", "svc-"+id, freeNetwork(), dir,
		"--host="+e.host, "--bridge=svc-"+id, "--storage-driver="+storage, "--config-file="+dir+"/daemon.json",
		"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
		"--data-root="+dir+"/data", "--exec-root="+dir+"/exec", "--pidfile="+dir+"/pid",
		"--containerd-namespace=svc-"+id, "--containerd-plugins-namespace=svc-plugins-"+id)
	lifeline := must.Get(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop := func() { _ = lifeline.Close(); <-ended }
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err := e.run(nil, "info"); err == nil {
			t.Cleanup(stop)
			return e
		}
		select {
		case <-ended:
			return nil
		default:
		}
	}
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	stop()
	t.Fatalf("the Docker engine does not answer:\n%s", log)
	return nil
}

// freeNetwork is the bridge's address in a network of 198.18.0.0/15, which is meant
// for tests (RFC 2544), that this machine is not in.
func freeNetwork() string {
	for {
		n := mathrand.IntN(512)
		address := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + n/256), byte(n % 256), 1}), 24)
		free := true
		for _, own := range addresses() {
			free = free && !own.Overlaps(address.Masked())
		}
		if free {
			return address.String()
		}
	}
}

// Reach is the URL at which containers reach a server of this machine's loopback
// interface.
func (e *Engine) Reach(t testing.TB, endpoint string) string {
	t.Helper()
	u := must.Get(url.Parse(endpoint))(t)
	if e.gateway == "" {
		u.Host = "host.docker.internal:" + u.Port()
		return u.String()
	}
	l := must.Get(net.Listen("tcp", e.gateway+":0"))(t)
	t.Cleanup(func() { l.Close() })
	go relay(l, u.Host)
	u.Host = l.Addr().String()
	return u.String()
}

func relay(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			defer out.Close()
			go func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() }()
			_, _ = io.Copy(in, out)
		}()
	}
}

// Environ is this process's environment, for programs that use the engine.
func (e *Engine) Environ() []string {
	if e.host == "" {
		return os.Environ()
	}
	return append(os.Environ(), "DOCKER_HOST="+e.host)
}

// Run runs the docker command and returns what it says.
func (e *Engine) Run(t testing.TB, in io.Reader, args ...string) string {
	t.Helper()
	return must.Get(e.run(in, args...))(t)
}

func (e *Engine) run(in io.Reader, args ...string) (string, error) {
	cmd := exec.Command("docker", args...)
	var out, problem bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(e.Environ(), "DOCKER_BUILDKIT=0"), in, &out, &problem
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w\n%s%s", strings.Join(args, " "), err, &out, &problem)
	}
	return strings.TrimSpace(out.String()), nil
}

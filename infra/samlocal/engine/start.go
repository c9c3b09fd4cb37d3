package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"svc.example/svc/infra/samlocal/lifeline"
)

// Where Debian has dockerd and ip, which is not on everybody's PATH.
const systemPath = ":/usr/local/sbin:/usr/sbin:/sbin"

// What runs a bridge and an engine on it, and what removes what they leave.
const (
	runEngine = `ip link add name "$SVC_ENGINE_BRIDGE" type bridge &&
ip address add "$SVC_ENGINE_ADDRESS" dev "$SVC_ENGINE_BRIDGE" &&
ip link set "$SVC_ENGINE_BRIDGE" up &&
exec dockerd "$@"`
	cleanUp = `ip link delete "$SVC_ENGINE_BRIDGE"
grep -F " $SVC_ENGINE_DIR/" /proc/mounts | cut -d ' ' -f 2 | while read -r mounted; do umount -l "$mounted"; done
rm -rf --one-file-system "$SVC_ENGINE_DIR"`
)

// Start starts an engine of one's own. It is an error that is ErrNone where
// that is impossible.
func Start(ctx context.Context) (*Engine, error) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return nil, fmt.Errorf("%w: none runs, and only root on Linux may start one", ErrNone)
	}
	path := os.Getenv("PATH") + systemPath
	for program, debian := range map[string]string{"dockerd": "docker.io", "ip": "iproute2", "docker": "docker.io (of Debian 13: docker-cli)"} {
		if !installed(program, path) {
			return nil, fmt.Errorf("%w: none runs, and %s is not installed to start one: apt-get install %s", ErrNone, program, debian)
		}
	}
	// Files over files is quicker, and impossible where the directory is
	// already such (in a container).
	e, err := start(ctx, path, "overlay2")
	if errors.Is(err, errEnded) {
		return start(ctx, path, "vfs")
	}
	return e, err
}

func installed(program, path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

var errEnded = errors.New("the Docker engine ended at once")

func start(ctx context.Context, path, storage string) (*Engine, error) {
	id := strings.ToLower(rand.Text()[:8])
	address, err := freeNetwork()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "svc-engine-")
	if err != nil {
		return nil, err
	}
	// Instead of the machine's own configuration, if it has one.
	settings := filepath.Join(dir, "daemon.json")
	if err := os.WriteFile(settings, []byte("{}"), 0o600); err != nil {
		return nil, err
	}
	socket := "unix://" + filepath.Join(dir, "docker.sock")
	log := &logBuffer{}
	process, err := lifeline.Start(lifeline.Program{
		Args: []string{"sh", "-c", runEngine, "sh",
			"--host=" + socket, "--bridge=svc-" + id, "--storage-driver=" + storage,
			"--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
			"--data-root=" + filepath.Join(dir, "data"), "--exec-root=" + filepath.Join(dir, "exec"), "--pidfile=" + filepath.Join(dir, "pid"),
			"--config-file=" + settings,
			"--containerd-namespace=svc-" + id, "--containerd-plugins-namespace=svc-plugins-" + id},
		Env:    append(os.Environ(), "PATH="+path, "SVC_ENGINE_DIR="+dir, "SVC_ENGINE_BRIDGE=svc-"+id, "SVC_ENGINE_ADDRESS="+address.String()),
		Output: log,
		Grace:  20 * time.Second, // it ends its containers first
		Clean:  cleanUp,
	})
	if err != nil {
		return nil, err
	}
	e, err := await(ctx, socket, process)
	if err != nil {
		process.Stop()
		return nil, fmt.Errorf("starting dockerd: %w\n%s", err, log.tail())
	}
	e.process = process
	return e, nil
}

const patience = time.Minute

// await waits until an engine answers.
func await(ctx context.Context, socket string, process *lifeline.Process) (*Engine, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		e, err := open(ctx, socket)
		if err == nil {
			return e, nil
		}
		select {
		case <-process.Ended():
			return nil, errEnded
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// freeNetwork picks a network of 198.18.0.0/15, which is meant for tests (RFC
// 2544), that this machine is not in, and the address of the bridge in it.
func freeNetwork() (netip.Prefix, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, err
	}
	for range 1000 {
		n := mathrand.IntN(512)
		address := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + n/256), byte(n % 256), 1}), 24)
		taken := false
		for _, a := range own {
			other, err := netip.ParsePrefix(a.String())
			taken = taken || err == nil && other.Overlaps(address.Masked())
		}
		if !taken {
			return address, nil
		}
	}
	return netip.Prefix{}, errors.New("all networks of 198.18.0.0/15 are taken on this machine")
}

// logBuffer keeps the end of what the engine writes.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

const logEnd = 4_000

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	l.text = l.text[max(0, len(l.text)-logEnd):]
	return len(b), nil
}

func (l *logBuffer) tail() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.TrimSpace(l.text)
}

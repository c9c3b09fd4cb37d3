// Package engine gives SAM a Docker engine: the one that runs on this machine,
// or one of its own for tests.
//
// Containers reach servers of this machine that listen on its loopback
// interface only (Reach):
//
//   - on Linux by a relay on this machine's address in the containers' network,
//     which takes connections from that network alone. A firewall must let
//     them in;
//   - where the engine runs in a virtual machine (Docker Desktop, Colima) by
//     the name host.docker.internal, which the virtual machine forwards.
//
// An engine of one's own (Start) needs Linux, root, and Debian's docker.io and
// iproute2. It has a bridge and a directory of its own, no way to other
// networks (no forwarding, no iptables rules), and needs no registry: images
// are imported. What must stay true: it ends with the process that started it,
// however that ends, and leaves nothing behind.
package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"

	"svc.example/svc/infra/samlocal/lifeline"
)

// Engine is a Docker engine.
type Engine struct {
	Host string // where it listens, as in DOCKER_HOST

	gateway netip.Addr // this machine, for containers; invalid where the engine runs in a virtual machine
	subnet  netip.Prefix
	relays  []*relay
	process *lifeline.Process // of an engine of our own
}

// ErrNone says that there is no engine that can be used, and why.
var ErrNone = errors.New("no Docker engine can be used")

// Running is the engine that runs on this machine: the one that the docker
// command talks to.
func Running(ctx context.Context) (*Engine, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, fmt.Errorf("%w: the docker command is not installed", ErrNone)
	}
	// SAM knows DOCKER_HOST, but not the contexts that Docker Desktop and
	// others make.
	host, err := (&Engine{Host: os.Getenv("DOCKER_HOST")}).docker(ctx, nil, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return open(ctx, strings.TrimSpace(string(host)))
}

// open asks an engine what it is.
func open(ctx context.Context, host string) (*Engine, error) {
	if !local(host) {
		return nil, fmt.Errorf("%w: the one at %s is another machine's (docker context use default, or unset DOCKER_HOST)", ErrNone, host)
	}
	e := &Engine{Host: host}
	out, err := e.docker(ctx, nil, "info", "--format", "{{json .}}")
	var info struct {
		ServerVersion   string
		OSType          string
		OperatingSystem string
		MemoryLimit     bool
		SecurityOptions []string
	}
	if err == nil {
		err = json.Unmarshal(out, &info)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	case info.ServerVersion == "":
		return nil, fmt.Errorf("%w: none answers at %s", ErrNone, host)
	case info.OSType != "linux":
		return nil, fmt.Errorf("%w: the one at %s runs containers of %s, and functions are Linux programs", ErrNone, host, info.OSType)
	case slices.Contains(info.SecurityOptions, "name=rootless"):
		return nil, fmt.Errorf("%w: the one at %s is rootless, and its containers do not reach this machine's loopback interface", ErrNone, host)
	case !info.MemoryLimit:
		return nil, fmt.Errorf("%w: the one at %s cannot limit memory (it has no memory cgroup), and functions are run within theirs", ErrNone, host)
	}
	// Beside it there may be an engine of this machine's own, with the same
	// addresses.
	if info.OperatingSystem == "Docker Desktop" {
		return e, nil
	}
	if err := e.findGateway(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return e, nil
}

// local says whether an engine publishes ports on this machine's loopback
// interface, where SAM looks for them.
func local(host string) bool {
	u, err := url.Parse(host)
	return err == nil && (u.Scheme == "unix" || u.Scheme == "npipe" || u.Scheme == "tcp" && loopback(u.Hostname()))
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// findGateway finds this machine's address in the containers' network, if it
// has one.
func (e *Engine) findGateway(ctx context.Context) error {
	out, err := e.docker(ctx, nil, "network", "inspect", "bridge", "--format", "{{json .IPAM.Config}}")
	if err != nil {
		return err
	}
	var networks []struct{ Subnet, Gateway string }
	if err := json.Unmarshal(out, &networks); err != nil {
		return fmt.Errorf("docker network inspect bridge: %w", err)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, n := range networks {
		gateway, err1 := netip.ParseAddr(n.Gateway)
		subnet, err2 := netip.ParsePrefix(n.Subnet)
		isOwn := slices.ContainsFunc(own, func(a net.Addr) bool { return strings.HasPrefix(a.String(), n.Gateway+"/") })
		if err1 == nil && err2 == nil && gateway.Is4() && isOwn {
			e.gateway, e.subnet = gateway, subnet
		}
	}
	return nil
}

// Reach returns the URL at which containers reach a server of this machine.
// Other machines' servers they reach by themselves.
func (e *Engine) Reach(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Port() == "" {
		return "", fmt.Errorf("%q is no URL with a port, such as http://127.0.0.1:8000", endpoint)
	}
	if !loopback(u.Hostname()) {
		return endpoint, nil
	}
	if !e.gateway.IsValid() {
		u.Host = net.JoinHostPort("host.docker.internal", u.Port())
		return u.String(), nil
	}
	at := slices.IndexFunc(e.relays, func(r *relay) bool { return r.to == u.Host })
	if at < 0 {
		r, err := newRelay(e.gateway, e.subnet, u.Host)
		if err != nil {
			return "", fmt.Errorf("relaying %s to containers: %w", endpoint, err)
		}
		at, e.relays = len(e.relays), append(e.relays, r)
	}
	u.Host = e.relays[at].listener.Addr().String()
	return u.String(), nil
}

// Environ is this process's environment, for programs that use the engine.
func (e *Engine) Environ() []string {
	if e.Host == "" {
		return os.Environ()
	}
	return append(os.Environ(), "DOCKER_HOST="+e.Host)
}

// Import makes an image of a tar archive, unless there is one of that name.
func (e *Engine) Import(ctx context.Context, name string, archive io.Reader) error {
	if _, err := e.docker(ctx, nil, "image", "inspect", name); err == nil {
		return nil
	}
	_, err := e.docker(ctx, archive, "import", "-", name)
	return err
}

// Remove removes containers, running or not. Those that are gone already are
// no error.
func (e *Engine) Remove(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := e.docker(ctx, nil, append([]string{"rm", "--force", "--volumes"}, ids...)...)
	if err != nil && strings.Contains(err.Error(), "No such container") {
		return nil
	}
	return err
}

// docker runs the docker command.
func (e *Engine) docker(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, problem bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Environ(), in, &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("docker %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return out.Bytes(), nil
}

// Close ends the relays, and the engine if it is one of our own.
func (e *Engine) Close() {
	for _, r := range e.relays {
		r.close()
	}
	e.relays = nil
	if e.process != nil {
		e.process.Stop()
	}
}

package apitest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/apiload"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/needs"
)

// unlimited lifts the rate limit.
var unlimited = httpapi.Limit{PerSecond: 1e9, Burst: 1e9}

// workplace is a data directory and the keys of those who work on it.
type workplace struct {
	dir  string
	keys []string // of clients, by their number
}

// gitIn is the git of this machine in a directory.
func gitIn(t testing.TB, dir string) apiload.Git {
	t.Helper()
	return apiload.Git{Program: needs.Program(t, "install git", "git"), Dir: dir}
}

func (w workplace) repository() string { return filepath.Join(w.dir, local.RepositoryName) }

// newWorkplace makes a data directory that holds files, for so many clients.
func newWorkplace(t testing.TB, files map[string]string, clients int) workplace {
	t.Helper()
	w := workplace{dir: filepath.Join(t.TempDir(), "data")}
	c := embedded.Creation{Name: "shop", Source: "the test's files", Files: map[string][]byte{}}
	for path, text := range files {
		c.Files[path] = []byte(text)
	}
	_, err := embedded.Create(background(t), w.dir, c)
	must(t, err)
	for i := range clients {
		w.keys = append(w.keys, w.mint(t, embedded.Minting{
			Kind: access.KindUser, Name: fmt.Sprint("client ", i), Email: apiload.AuthorOf(i), Roles: []string{"protected_engineer"},
		}))
	}
	return w
}

func (w workplace) mint(t testing.TB, m embedded.Minting) string {
	t.Helper()
	key, _, err := embedded.Mint(background(t), w.dir, m)
	must(t, err)
	return key.Reveal()
}

// within serves a workplace in this process and returns its address.
func within(t testing.TB, w workplace) string {
	t.Helper()
	log := &buffer{}
	service, err := embedded.Open(background(t), w.dir, embedded.Options{
		PublicURL: "https://svc.test", Limit: unlimited, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	must(t, err)
	server := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		server.Close()
		must(t, service.Close())
		log.quiet(t)
	})
	return server.URL
}

// buffer is what a server writes to its log, by many hands.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// quiet fails a test whose server had something to report.
func (b *buffer) quiet(t testing.TB) {
	t.Helper()
	if text := b.String(); strings.Contains(text, "ERROR") || strings.Contains(text, "RACE") || strings.Contains(text, "panic") {
		t.Errorf("the server says:\n%s", text)
	}
}

// process is svc api as a process of its own.
type process struct {
	cmd  *exec.Cmd
	log  *buffer
	base string
}

// launch starts svc api and waits until it listens.
func launch(t testing.TB, binary func() (string, error), w workplace, port string) *process {
	t.Helper()
	path, err := binary()
	must(t, err)
	p := &process{log: &buffer{}, base: "http://127.0.0.1:" + port}
	p.cmd = exec.Command(path, "api", "--data", w.dir, "--port", port, "--rate-limit", "1000000", "--rate-burst", "1000000")
	// A program with the race detector otherwise waits a second before it ends.
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(p.kill) // should the test end early
	impatient := time.AfterFunc(apiload.Patience, func() { p.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	impatient.Stop()
	if !strings.HasPrefix(line, "Listening") {
		p.kill()
		t.Fatalf("svc api says %q, %v:\n%s", line, err, p.log)
	}
	go io.Copy(io.Discard, out)
	return p
}

// kill ends the process in the middle of whatever it does.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// stop asks the process to end, and demands that it ends well.
func (p *process) stop(t testing.TB) {
	t.Helper()
	p.cmd.Process.Signal(os.Interrupt)
	impatient := time.AfterFunc(apiload.Patience, func() { p.cmd.Process.Kill() })
	defer impatient.Stop()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("svc api, told to stop: %v\n%s", err, p.log)
	}
}

// freePort finds a port that stays free while a server is started anew: not
// one of those that the system gives to clients.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// command runs another svc beside the one that serves.
func command(ctx context.Context, binary func() (string, error), args ...string) (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("svc %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

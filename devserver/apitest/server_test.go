package apitest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// unlimited lifts the rate limit.
var unlimited = ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}

// workplace is a data directory and the keys of those who work on it.
type workplace struct {
	dir  string
	keys []string // of clients, by their number
}

// gitIn is the git of this machine in a directory.
func gitIn(t testing.TB, dir string) apiload.Git {
	t.Helper()
	return apiload.Git{Program: testenv.Program(t, "install git", "git"), Dir: dir}
}

func (w workplace) repository() string { return filepath.Join(w.dir, local.RepositoryName) }

// newWorkplace makes a data directory that holds files, for so many clients,
// of which two each share a key.
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
		if i%2 == 1 { // the twin of the one before
			w.keys = append(w.keys, w.keys[i-1])
			continue
		}
		w.keys = append(w.keys, w.issueKey(t, access.KeyRequest{
			Kind: access.KindUser, Name: fmt.Sprint("client ", i), Email: apiload.AuthorOf(i), Roles: []string{"protected_engineer"},
		}))
	}
	return w
}

func (w workplace) issueKey(t testing.TB, m access.KeyRequest) string {
	t.Helper()
	key, _, err := embedded.IssueKey(background(t), w.dir, "", m)
	must(t, err)
	return key.Reveal()
}

// process is svc api as a process of its own.
type process struct {
	*svcbinary.Server
	base string
}

// launch starts svc api and waits until it listens.
func launch(t testing.TB, binary func() (string, error), w workplace, port string) *process {
	t.Helper()
	path, err := binary()
	must(t, err)
	server, err := svcbinary.Start(path, "api", "--data", w.dir, "--port", port, "--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000")
	must(t, err)
	t.Cleanup(server.Kill) // should the test end early
	return &process{server, "http://127.0.0.1:" + port}
}

// kill ends the process in the middle of what it does. It must have reported nothing.
func (p *process) kill(t testing.TB) {
	t.Helper()
	p.Kill()
	if err := p.Log.Quiet(); err != nil {
		t.Error(err)
	}
}

// stop asks the process to end, which it must do well, having reported nothing.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if err := errors.Join(p.Stop(), p.Log.Quiet()); err != nil {
		t.Error(err)
	}
}

// command runs another svc beside the one that serves.
func command(ctx context.Context, args ...string) (string, error) {
	path, err := svcbinary.Swift()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("svc %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

package browsertest

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

// serve starts svc serve on a free port and returns the port. The server is
// told to stop when the test ends, and must then end with status 0.
func serve(t *testing.T, datadir string, flags ...string) string {
	t.Helper()
	port := freeport.Take()
	if problem := start(t, datadir, port, flags...); problem != "" {
		t.Fatalf("svc serve %v: %s", flags, problem)
	}
	return port
}

// start starts svc serve on a port, or says what it printed instead of its
// start-up lines.
func start(t *testing.T, datadir, port string, flags ...string) (problem string) {
	t.Helper()
	return launch(t, append([]string{"serve", "--datadir", datadir, "--port", port}, flags...)...)
}

// launch starts a server, which is told to stop when the test ends, or
// says what it printed instead of its start-up lines.
func launch(t *testing.T, args ...string) (problem string) {
	t.Helper()
	server, err := svcbinary.Here(args...)
	if err != nil {
		return err.Error()
	}
	if slices.Contains(args, "--console") && !slices.Contains(args, "--url") {
		opensConsole(t, server)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		} else if t.Failed() {
			t.Logf("svc %s:\n%s", args[0], server.Log)
		}
	})
	return ""
}

// workspace is an svc api that serves one.
type workspace struct {
	base, data, port string
	halt             func() // stops the server
}

// serveWorkspace serves what is in a directory, without limits that a test
// would have to wait for.
func serveWorkspace(t *testing.T, dir string) *workspace {
	t.Helper()
	w := &workspace{data: filepath.Join(t.TempDir(), "data"), port: freeport.Take()}
	w.base = "http://127.0.0.1:" + w.port
	w.halt = w.start(t, "--import", dir, "--workspace", "acme")
	return w
}

// start starts the server, which a test may stop and start again.
func (w *workspace) start(t *testing.T, flags ...string) (stop func()) {
	t.Helper()
	args := append([]string{"api", "--data", w.data, "--port", w.port, "--rate-limit", "1000", "--rate-burst", "1000"}, flags...)
	server := must.Get(svcbinary.Here(args...))(t)
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// key makes a key of a role.
func (w *workspace) key(t *testing.T, name, role string) string {
	t.Helper()
	return svc(t, "key", "create", "--data", w.data, "--kind", "user", "--name", name, "--email", strings.ToLower(name)+"@acme.example", "--role", role)
}

// applicationKey makes a key that applications use in an environment.
func (w *workspace) applicationKey(t *testing.T, kind, environment string) string {
	t.Helper()
	return svc(t, "key", "create", "--data", w.data, "--kind", kind, "--name", "app", "--environment", environment)
}

// send sends a request past the console, and demands success.
func (w *workspace) send(t *testing.T, key, method, path, body string) {
	t.Helper()
	if status, answer := request(t, method, w.base+path, key, body); status != 200 {
		t.Fatalf("%s %s: %d\n%s", method, path, status, answer)
	}
}

// request asks an API past every browser.
func request(t *testing.T, method, url, key, body string) (status int, answer string) {
	t.Helper()
	r := must.Get(http.NewRequest(method, url, strings.NewReader(body)))(t)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	a := must.Get(http.DefaultClient.Do(r))(t)
	defer a.Body.Close()
	text := must.Get(io.ReadAll(a.Body))(t)
	return a.StatusCode, string(text)
}

// get reads from an API past every browser.
func get[T any](t *testing.T, url, key string) T {
	t.Helper()
	status, text := request(t, "GET", url, key, "")
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil || status != 200 {
		t.Fatalf("GET %s: %d, %v\n%.500s", url, status, err, text)
	}
	return value
}

// do carries out what a person does, and waits for what it needs.
func (tab tab) do(t *testing.T, what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "3") // whatever others are: a tab keeps half of a core busy
	os.Exit(svcbinary.Run(func() int {
		defer closeBrowser()
		os.Setenv("XDG_STATE_HOME", filepath.Join(svcbinary.Folder(), "state"))
		return m.Run()
	}))
}

// svc runs a command, and returns what it prints.
func svc(t *testing.T, args ...string) string {
	t.Helper()
	out := must.Get(svcbinary.Do(args...))(t)
	return out
}

// patience is how long a test waits for what it expects.
const patience = time.Minute

// eventually waits until check is satisfied. Until then check says what it
// found instead.
func eventually(t *testing.T, what string, check func() (found any, done bool)) {
	t.Helper()
	var found any
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var done bool
		if found, done = check(); done {
			return
		}
	}
	t.Fatalf("%s: not within %s, but %v", what, patience, found)
}

// site is where pages come from: another origin than svc's. It is reached
// under two names, so that it stands for two origins.
type site struct {
	port string
}

func newSite(t *testing.T, pages map[string]string) site {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType(r.URL.Path))
		w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must.Do(t, err)
	return site{port}
}

func contentType(path string) string {
	if strings.HasSuffix(path, ".js") {
		return "text/javascript; charset=utf-8"
	}
	return "text/html; charset=utf-8"
}

// origin is the site's origin under one of its names, as a browser sends it.
func (s site) origin(host string) string { return "http://" + host + ":" + s.port }

// blank is a page that does nothing.
const blank = "<!doctype html><title>blank</title><body></body>"

func blankSite(t *testing.T) site {
	t.Helper()
	return newSite(t, map[string]string{"/": blank})
}

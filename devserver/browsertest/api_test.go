package browsertest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

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
	server, err := svcbinary.Here(args...)
	must(t, err)
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
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	must(t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	a, err := http.DefaultClient.Do(r)
	must(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	must(t, err)
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

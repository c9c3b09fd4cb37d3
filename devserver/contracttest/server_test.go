package contracttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// server is a running svc api with a workspace of its own: the example
// directory and the documents that the description shows.
type server struct {
	origin      string // http://127.0.0.1:port
	key         string
	description string // a file with what it serves at /v1/openapi.json
	data        string // its data directory
}

func serve(t *testing.T) server {
	t.Helper()
	s := server{data: filepath.Join(t.TempDir(), "data")}
	s.origin = launch(t, s.data, workspace(t))
	s.key = s.newKey(t, "you", "protected_engineer")
	s.description = s.fetch(t, "/v1/openapi.json")
	return s
}

// newKey makes a key of a new user with a role.
func (s server) newKey(t *testing.T, name, role string) string {
	t.Helper()
	key, err := svcbinary.Do("key", "create", "--data", s.data, "--kind", "user", "--name", name, "--role", role)
	must(t, err)
	return key
}

// launch starts svc api and waits until it listens. It is told to stop
// when the test ends, and must then end with status 0.
func launch(t *testing.T, data, datadir string) (origin string) {
	t.Helper()
	port := freeport.Take()
	server, err := svcbinary.Here("api", "--data", data, "--import", datadir, "--workspace", "example", "--port", port,
		"--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000")
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(server.Stop(), server.Log.Quiet())) })
	return "http://127.0.0.1:" + port
}

// fetch saves what the server answers to a GET, and returns the file's path.
func (s server) fetch(t *testing.T, path string) string {
	t.Helper()
	answer, err := http.Get(s.origin + path)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, answer.Status, body)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	must(t, os.WriteFile(file, body, 0o666))
	return file
}

// workspace lays out the example directory with the documents of the
// description's examples beside it, so that its keys lead somewhere.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(path string, content []byte) {
		path = filepath.Join(dir, filepath.FromSlash(path))
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must(t, os.WriteFile(path, content, 0o666))
	}
	for _, f := range sample.All() {
		put(f.Path, f.Content)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "httpapi", "openapi.json"))
	must(t, err)
	description, err := jsontree.Parse(text)
	must(t, err)
	for family, folder := range map[string]string{"flags": "feature-flags", "configs": "configs", "log-levels": "log-levels"} {
		get := description.Get("paths").Get("/" + family + "/{key}/document").Get("get")
		document := get.At("/responses/200/content/application~1json/example/document")
		key, _ := document.Get("key").Text()
		put(folder+"/"+key+".json", document.Encode())
	}
	return dir
}

// patience is how long one program may take before its test fails. It is a
// way out for a program that hangs, not a measure.
const patience = 5 * time.Minute

// program prepares a program that ends with its test.
func program(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	cmd.WaitDelay = time.Second
	return cmd
}

// succeed runs a program to its end and returns what it printed.
func succeed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package contracttest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/jsontree"
)

// server is a running svc api with a workspace of its own: the example
// directory and the documents that the description shows.
type server struct {
	origin      string // http://127.0.0.1:port
	key         string
	description string // a file with what it serves at /v1/openapi.json
}

func serve(t *testing.T) server {
	t.Helper()
	path, err := binary()
	must(t, err)
	data := filepath.Join(t.TempDir(), "data")
	s := server{origin: launch(t, path, data, workspace(t))}
	create := program(t, ".", path, "key", "create", "--data", data, "--kind", "user", "--name", "you", "--role", "protected_engineer")
	key, err := create.Output()
	must(t, err)
	s.key = strings.TrimSpace(string(key))
	s.description = s.fetch(t, "/v1/openapi.json")
	return s
}

// launch starts svc api on a free port and waits until it listens. It is
// stopped by a signal when the test ends, and must then exit with status 0.
func launch(t *testing.T, path, data, datadir string) (origin string) {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(path, "api", "--data", data, "--import", datadir, "--workspace", "example", "--port", port,
		"--rate-limit", "1000000", "--rate-burst", "1000000")
	// A program with the race detector otherwise waits a second before it ends.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	impatient := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer impatient.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "Listening") {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("svc api says %q, %v\n%s", line, err, &stderr)
	}
	go io.Copy(io.Discard, out)
	t.Cleanup(func() { stop(t, cmd, &stderr) })
	return "http://127.0.0.1:" + port
}

func stop(t *testing.T, cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd.Process.Signal(os.Interrupt)
	impatient := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer impatient.Stop()
	if err := cmd.Wait(); err != nil || strings.Contains(stderr.String(), "ERROR") {
		t.Errorf("svc api, told to stop: %v\n%s", err, stderr)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
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

package contracttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
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
	key := must.Get(svcbinary.Do("key", "create", "--data", s.data, "--kind", "user", "--name", name, "--role", role))(t)
	return key
}

// launch starts svc api and waits until it listens. It is told to stop
// when the test ends, and must then end with status 0.
func launch(t *testing.T, data, datadir string) (origin string) {
	t.Helper()
	port := freeport.Take()
	server := must.Get(svcbinary.Here("api", "--data", data, "--import", datadir, "--workspace", "example", "--port", port,
		"--rate-limit", "1000000", "--rate-burst", "1000000", "--anonymous-limit", "1000000", "--anonymous-burst", "1000000"))(t)
	t.Cleanup(func() { must.Do(t, errors.Join(server.Stop(), server.Log.Quiet())) })
	return "http://127.0.0.1:" + port
}

// fetch saves what the server answers to a GET, and returns the file's path.
func (s server) fetch(t *testing.T, path string) string {
	t.Helper()
	answer := must.Get(http.Get(s.origin + path))(t)
	defer answer.Body.Close()
	body := must.Get(io.ReadAll(answer.Body))(t)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, answer.Status, body)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	must.Do(t, os.WriteFile(file, body, 0o666))
	return file
}

// workspace lays out the example directory with the documents of the
// description's examples beside it, so that its keys lead somewhere.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(path string, content []byte) {
		path = filepath.Join(dir, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(t, os.WriteFile(path, content, 0o666))
	}
	for _, f := range sample.All() {
		put(f.Path, f.Content)
	}
	text := must.Get(os.ReadFile(filepath.Join("..", "..", "shared", "httpapi", "openapi.json")))(t)
	description := must.Get(jsontree.Parse(text))(t)
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

// TestTheGoClients generates clients with oapi-codegen: of the description, which it takes
// as it is, and of the one that the OpenFeature CLI has of its own API. It compiles them
// with a program that uses both, and runs that.
func TestTheGoClients(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS("testdata/goclient")))
	must.Do(t, os.Mkdir(filepath.Join(dir, "client"), 0o777))
	if out, err := goIn(t, dir, "mod", "download").CombinedOutput(); err != nil {
		testenv.Skip(t, "the modules of testdata/goclient/go.mod cannot be had: "+string(out))
	}
	for of, description := range map[string]string{".": s.description, "manifest": filepath.Join("manifest", "sync.yaml")} {
		generate := goIn(t, dir, "tool", "oapi-codegen", "-config", filepath.Join(of, "oapi-codegen.yaml"), description)
		if out := succeed(t, generate); strings.Contains(out, "WARN") {
			t.Errorf("oapi-codegen has reservations: %s", out)
		}
	}
	succeed(t, goIn(t, dir, "vet", "."))
	succeed(t, goIn(t, dir, "build", "-o", "smoke.exe", "."))
	smoke := program(t, dir, filepath.Join(dir, "smoke.exe"))
	smoke.Env = append(smoke.Env, "SVC="+s.origin, "KEY="+s.key, "READER="+s.newKey(t, "reader", "member"))
	if out := succeed(t, smoke); !strings.HasSuffix(out, "ok\n") {
		t.Errorf("the program says %s", out)
	}
}

// goIn prepares the go command in the client's own module.
func goIn(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program(t, dir, "go", args...)
	cmd.Env = append(cmd.Env, "GOWORK=off")
	return cmd
}

// npm prepares a command of the npm packages of this folder.
func npm(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	node := testenv.Program(t, "on Debian, apt-get install nodejs", "node")
	recentEnough(t, node)
	// npm writes this file last, so that a broken-off installation lacks it.
	testenv.File(t, "run `make test`, or npm ci in devserver/contracttest", filepath.Join("node_modules", ".package-lock.json"))
	path := must.Get(filepath.Abs(filepath.Join("node_modules", ".bin", name)))(t)
	cmd := program(t, dir, node, append([]string{path}, args...)...)
	// Neither asks the network anything.
	cmd.Env = append(cmd.Env, "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	return cmd
}

// recentEnough skips with a Node.js that the packages do not run with.
func recentEnough(t *testing.T, node string) {
	t.Helper()
	version := strings.TrimSpace(succeed(t, program(t, ".", node, "--version"))) // v20.19.1
	var major, minor int
	must.Get(fmt.Sscanf(version, "v%d.%d.", &major, &minor))(t)
	if major < 20 || major == 20 && minor < 19 {
		testenv.Skip(t, "Node.js is "+version+": the packages of devserver/contracttest need 20.19 or later")
	}
}

// TestTheTypeScriptClient generates the client with openapi-ts, compiles it
// strictly with a program that uses it, and runs that.
func TestTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	s := serve(t)
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS("typescript")))
	succeed(t, npm(t, dir, "openapi-ts", "--input", s.description, "--output", "client", "--no-log-file"))
	types := must.Get(filepath.Abs(filepath.Join("node_modules", "@types")))(t)
	succeed(t, npm(t, dir, "tsc", "--project", ".", "--typeRoots", types))
	smoke := program(t, dir, "node", filepath.Join("built", "smoke.js"))
	smoke.Env = append(smoke.Env, "SVC="+s.origin+"/v1", "KEY="+s.key)
	if out := succeed(t, smoke); !strings.HasSuffix(out, "ok\n") {
		t.Errorf("the program says %s", out)
	}
}

// TestTheDescriptionLints: with the recommended rules of Redocly, and its warnings taken
// for errors.
func TestTheDescriptionLints(t *testing.T) {
	t.Parallel()
	s := serve(t)
	cmd := npm(t, filepath.Dir(s.description), "redocly", "lint", "--extends=recommended-strict", "--format=json", filepath.Base(s.description))
	out, err := cmd.Output() // its exit status is how many problems there are
	var report struct {
		Problems []struct {
			RuleID, Message string
			Location        []struct{ Pointer string }
		}
	}
	if problem := json.Unmarshal(out, &report); problem != nil {
		stderr := ""
		if exit, is := err.(*exec.ExitError); is {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("redocly lint: %v, %v\n%s%s", err, problem, out, stderr)
	}
	for _, p := range report.Problems {
		t.Errorf("%v: %s: %s", p.Location, p.RuleID, p.Message)
	}
	if err != nil && len(report.Problems) == 0 {
		t.Fatalf("redocly lint: %v", err)
	}
}

// report is what Schemathesis says of a run, as far as it is looked at.
type report struct {
	Complete   bool
	Operations struct{ Total, Tested, Errored int }
	Phases     map[string]struct{ Status string }
	Cases      struct {
		Generated int
	} `json:"test_cases"`
	Filtered int
	Failures []json.RawMessage
	Errors   []json.RawMessage
	printed  string
}

// TestSchemathesis sends what Schemathesis makes of the description: its
// examples, the limits of every schema, random requests that fit and that do
// not, and walks along the links.
func TestSchemathesis(t *testing.T) {
	t.Parallel()
	r := schemathesize(t, serve(t), "", "--max-examples", "10")
	t.Logf("%d operations, %d cases, %d refusals as in allowed.py", r.Operations.Tested, r.Cases.Generated, r.Filtered)
	for _, phase := range []string{"examples", "coverage", "fuzzing", "stateful"} {
		if status := r.Phases[phase].Status; status != "success" {
			t.Errorf("%s: %s", phase, status)
		}
	}
	switch {
	case len(r.Failures) > 0 || len(r.Errors) > 0:
		t.Errorf("%d failures, %d errors:\n%s", len(r.Failures), len(r.Errors), r.printed)
	case !r.Complete || r.Operations.Tested < r.Operations.Total || r.Cases.Generated < 1000:
		t.Errorf("not everything was tried:\n%s", r.printed)
	}
}

// TestSchemathesisObjects: a description that promises what svc does not do is
// found out, though allowed.py allows some of it.
func TestSchemathesisObjects(t *testing.T) {
	t.Parallel()
	s := serve(t)
	description := must.Get(os.ReadFile(s.description))(t)
	text, args := string(description), []string{"--max-examples", "10", "--phases", "examples,coverage"}
	promises := []struct{ operation, at, old, new string }{
		{"getWhoami", "GET /whoami", `"keyId"`, `"keyName"`},
		{"listFlags", "GET /flags", `"maximum": 100,`, `"maximum": 1000,`},
		{"updateLogLevel", "PATCH /log-levels/{key}", `"TRACE",`, `"TRACE", "ALL",`},
	}
	for _, c := range promises {
		broken := strings.ReplaceAll(text, c.old, c.new)
		if broken == text {
			t.Errorf("the description does not hold %s", c.old)
		}
		text, args = broken, append(args, "--include-operation-id", c.operation)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	r := schemathesize(t, s, file, args...)
	for _, c := range promises {
		if !slices.ContainsFunc(r.Failures, func(found json.RawMessage) bool { return strings.Contains(string(found), c.at) }) {
			t.Errorf("%s: Schemathesis does not find that %s is now %s:\n%s", c.operation, c.old, c.new, r.printed)
		}
	}
}

// schemathesize runs Schemathesis with all checks against a server, by the
// description that it serves or by another.
func schemathesize(t *testing.T, s server, description string, args ...string) report {
	t.Helper()
	path := theProgram(t)
	config := must.Get(filepath.Abs("schemathesis"))(t)
	for _, name := range []string{"schemathesis.toml", "allowed.py", "requirements.txt"} {
		_, err := os.Stat(filepath.Join(config, name)) // so that the go command knows what a kept result rests on
		must.Do(t, err)
	}
	dir := t.TempDir()
	args = append([]string{"--config-file", filepath.Join(config, "schemathesis.toml"), "run", "--no-color", "--checks", "all",
		"--seed", cmp.Or(os.Getenv("SVC_TEST_SEED"), "1"), "--report", "json", "--report-json-path", "report.json",
		cmp.Or(description, s.origin+"/v1/openapi.json")}, args...)
	if description != "" {
		args = append(args, "--url", s.origin+"/v1")
	}
	cmd := program(t, dir, path, args...)
	cmd.Env = append(cmd.Env, "KEY="+s.key, "PYTHONPATH="+config, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: it has found something
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	text := must.Get(os.ReadFile(filepath.Join(dir, "report.json")))(t)
	r := report{printed: string(out)}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("the report of Schemathesis: %v", err)
	}
	return r
}

// theProgram is where Schemathesis is: where a variable says, where make test
// puts it, or on the PATH.
func theProgram(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("SVC_SCHEMATHESIS"); path != "" {
		return path
	}
	path := must.Get(filepath.Abs(filepath.Join("schemathesis", ".venv", "bin", "schemathesis")))(t)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return testenv.Program(t, "run `make test`, or pip install -r devserver/contracttest/schemathesis/requirements.txt, or name it in SVC_SCHEMATHESIS", "schemathesis")
}

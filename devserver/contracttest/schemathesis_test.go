package contracttest

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

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
	r := schemathesize(t, serve(t), "", "--max-examples", "20")
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
	s := serve(t)
	text, err := os.ReadFile(s.description)
	must(t, err)
	for _, c := range []struct{ operation, old, new string }{
		{"getWhoami", `"keyId"`, `"keyName"`},
		{"listFlags", `"maximum": 100,`, `"maximum": 1000,`},
		{"updateLogLevel", `"TRACE",`, `"TRACE", "ALL",`},
	} {
		broken := strings.ReplaceAll(string(text), c.old, c.new)
		if broken == string(text) {
			t.Errorf("the description does not hold %s", c.old)
			continue
		}
		file := filepath.Join(t.TempDir(), "openapi.json")
		must(t, os.WriteFile(file, []byte(broken), 0o666))
		r := schemathesize(t, s, file, "--max-examples", "10", "--include-operation-id", c.operation, "--phases", "examples,coverage")
		if len(r.Failures) == 0 {
			t.Errorf("%s: Schemathesis does not find that %s is now %s:\n%s", c.operation, c.old, c.new, r.printed)
		}
	}
}

// schemathesize runs Schemathesis with all checks against a server, by the
// description that it serves or by another.
func schemathesize(t *testing.T, s server, description string, args ...string) report {
	t.Helper()
	path := theProgram(t)
	config, err := filepath.Abs("schemathesis")
	must(t, err)
	for _, name := range []string{"schemathesis.toml", "allowed.py", "requirements.txt"} {
		_, err := os.Stat(filepath.Join(config, name)) // so that the go command knows what a kept result rests on
		must(t, err)
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
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	must(t, err)
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
	path, err := filepath.Abs(filepath.Join("schemathesis", ".venv", "bin", "schemathesis"))
	must(t, err)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return testenv.Program(t, "run `make test`, or pip install -r devserver/contracttest/schemathesis/requirements.txt, or name it in SVC_SCHEMATHESIS", "schemathesis")
}

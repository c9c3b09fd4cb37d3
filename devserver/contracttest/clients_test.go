package contracttest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// TestTheGoClient generates the client with oapi-codegen, which takes the
// description as it is, compiles it with a program that uses it, and runs
// that.
func TestTheGoClient(t *testing.T) {
	s := serve(t)
	runGoClient(t, ".", s.description, "SVC="+s.origin+"/v1", "KEY="+s.key)
}

// TestTheManifestClient does the same with the description that the OpenFeature CLI
// has of its own API, which every answer is held against.
func TestTheManifestClient(t *testing.T) {
	s := serve(t)
	runGoClient(t, "manifest", filepath.Join("manifest", "sync.yaml"), "SVC="+s.origin, "KEY="+s.key, "READER="+s.newKey(t, "reader", "member"))
}

// runGoClient generates a client of a description for a program of goclient, and runs
// it.
func runGoClient(t *testing.T, of, description string, environment ...string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/goclient")))
	must(t, os.Mkdir(filepath.Join(dir, of, "client"), 0o777))
	if out, err := goIn(t, dir, "mod", "download").CombinedOutput(); err != nil {
		testenv.Skip(t, "the modules of testdata/goclient/go.mod cannot be had: "+string(out))
	}
	generate := goIn(t, dir, "tool", "oapi-codegen", "-config", filepath.Join(of, "oapi-codegen.yaml"), description)
	if out := succeed(t, generate); strings.Contains(out, "WARN") {
		t.Errorf("oapi-codegen has reservations: %s", out)
	}
	succeed(t, goIn(t, dir, "vet", "./"+of))
	succeed(t, goIn(t, dir, "build", "-o", "smoke.exe", "./"+of))
	smoke := program(t, dir, filepath.Join(dir, "smoke.exe"))
	smoke.Env = append(smoke.Env, environment...)
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
	path, err := filepath.Abs(filepath.Join("node_modules", ".bin", name))
	must(t, err)
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
	_, err := fmt.Sscanf(version, "v%d.%d.", &major, &minor)
	must(t, err)
	if major < 20 || major == 20 && minor < 19 {
		testenv.Skip(t, "Node.js is "+version+": the packages of devserver/contracttest need 20.19 or later")
	}
}

// TestTheTypeScriptClient generates the client with openapi-ts, compiles it
// strictly with a program that uses it, and runs that.
func TestTheTypeScriptClient(t *testing.T) {
	s := serve(t)
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("typescript")))
	succeed(t, npm(t, dir, "openapi-ts", "--input", s.description, "--output", "client", "--no-log-file"))
	types, err := filepath.Abs(filepath.Join("node_modules", "@types"))
	must(t, err)
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

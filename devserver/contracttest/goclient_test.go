package contracttest

import (
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

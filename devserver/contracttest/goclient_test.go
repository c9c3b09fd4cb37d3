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
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("goclient")))
	must(t, os.Mkdir(filepath.Join(dir, "client"), 0o777))
	if out, err := goIn(t, dir, "mod", "download").CombinedOutput(); err != nil {
		testenv.Skip(t, "the modules of goclient/go.mod cannot be had: "+string(out))
	}
	s := serve(t)
	generate := goIn(t, dir, "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", s.description)
	if out := succeed(t, generate); strings.Contains(out, "WARN") {
		t.Errorf("oapi-codegen has reservations: %s", out)
	}
	succeed(t, goIn(t, dir, "vet", "."))
	succeed(t, goIn(t, dir, "build", "-o", "smoke.exe", "."))
	smoke := program(t, dir, filepath.Join(dir, "smoke.exe"))
	smoke.Env = append(smoke.Env, "SVC="+s.origin+"/v1", "KEY="+s.key)
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

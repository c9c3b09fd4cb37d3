package contracttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

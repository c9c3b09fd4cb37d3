package client_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// TestGuideSnippet builds the guide's Go example as it stands there, and
// runs it beside a config directory like the one that svc init lays out.
func TestGuideSnippet(t *testing.T) {
	testenv.Slow(t)
	program := guides.Snippet(t, "shared/client/README.md", "go-client")
	dir := t.TempDir()
	must.Do(t, os.CopyFS(filepath.Join(dir, "our-config"), os.DirFS(sample)))
	if out, err := exec.Command(build(t, []byte(program), dir)).Output(); err == nil {
		t.Fatalf("it ran outside of its directory: %s", out)
	}
	run := exec.Command(filepath.Join(dir, "program"))
	run.Dir, run.Stderr = dir, t.Output()
	if out, err := run.Output(); err != nil || strings.TrimSpace(string(out)) != "the new checkout" {
		t.Errorf("%v, %q", err, out)
	}
}

// build compiles a program as if it lay in this module.
func build(t *testing.T, source []byte, dir string) string {
	t.Helper()
	here := must.Get(os.Getwd())(t)
	text, overlay, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "readme", "main.go"): text}})
	for path, content := range map[string][]byte{text: source, overlay: replace} {
		must.Do(t, os.WriteFile(path, content, 0o644))
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-overlay", overlay, "-o", program, "./readme")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

package browsertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

func needsPackages(t *testing.T) {
	t.Helper()
	// npm writes this file last, so that a broken-off installation lacks it.
	testenv.File(t, "run `make test`, or npm ci in devserver/browsertest", filepath.Join("node_modules", ".package-lock.json"))
}

// node returns a command that runs a program, with the installed packages in
// reach.
func node(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	needsPackages(t)
	path := testenv.Program(t, "on Debian, apt-get install nodejs", "node")
	return exec.Command(path, "--input-type=module", "--eval", program)
}

// bundle makes one script of a program and the packages that it imports, as
// the build of an application does.
func bundle(t *testing.T, program string) string {
	t.Helper()
	needsPackages(t)
	testenv.Program(t, "on Debian, apt-get install nodejs", "node") // esbuild's command is a script
	esbuild := exec.Command(filepath.Join("node_modules", ".bin", "esbuild"), "--bundle", "--format=esm", "--log-level=warning")
	packages, err := filepath.Abs("node_modules") // for a program that lies elsewhere
	must(t, err)
	esbuild.Env = append(os.Environ(), "NODE_PATH="+packages)
	esbuild.Stdin = strings.NewReader(program)
	var stderr bytes.Buffer
	esbuild.Stderr = &stderr
	out, err := esbuild.Output()
	if err != nil {
		t.Fatalf("esbuild: %v\n%s", err, &stderr)
	}
	return string(out)
}

// bundleSite serves a page that runs a program.
func bundleSite(t *testing.T, program string) site {
	t.Helper()
	return newSite(t, map[string]string{
		"/":          `<!doctype html><title>app</title><body></body><script type="module" src="/bundle.js"></script>`,
		"/bundle.js": bundle(t, program),
	})
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text := readFile(t, filepath.Join("testdata", name))
	return string(text)
}

package contracttest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

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

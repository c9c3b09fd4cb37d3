// Package realgit runs git in tests. Nothing of the person who runs the tests counts.
package realgit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// Command is git in a directory. The test is skipped where there is none.
func Command(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testenv.Program(t, "apt-get install git", "git"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "LC_ALL=C",
		"GIT_AUTHOR_NAME=Linus", "GIT_AUTHOR_EMAIL=linus@example.com", "GIT_COMMITTER_NAME=Linus", "GIT_COMMITTER_EMAIL=linus@example.com")
	return cmd
}

// Try runs git and returns what it prints.
func Try(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := Command(t, dir, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), problems.String())
	}
	return out.String(), err
}

// Run is Try where git must succeed.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return must.Get(Try(t, dir, args...))(t)
}

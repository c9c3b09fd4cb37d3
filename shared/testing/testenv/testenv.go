// Package testenv lets a test say which component it needs beyond the Go
// toolchain: a browser, npm packages, a server. On a laptop that lacks the
// component the test is skipped with the reason; with CI=true it fails, so
// that a green run always means that everything ran. Only tests import it.
package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// Skip ends a test whose component is missing. The reason says how to get it.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI=true and a component is missing: %s", reason)
	}
	t.Skip(reason)
}

// Program returns the path of the first of the named programs that is
// installed.
func Program(t testing.TB, how string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Skip(t, names[0]+" is not installed: "+how)
	return ""
}

// File skips unless a file is there.
func File(t testing.TB, how, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		Skip(t, path+" is missing: "+how)
	}
}

// Slow leaves a test out of make quick: it takes seconds, or starts many programs.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make quick leaves it out")
	}
}

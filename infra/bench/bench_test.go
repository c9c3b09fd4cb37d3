package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/workspace"
)

func TestNumbersAsPeopleReadThem(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 100_000: "100,000", 1_234_567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 12_345: "12.3µs", 1_234_567: "1.23ms", 98_765_432: "98.8ms", 1_999_999_999: "2s",
	} {
		if got := brief(d); got != want {
			t.Errorf("brief(%d) = %s, want %s", d, got, want)
		}
	}
}

// What is measured must be what a workspace may hold, and a history that git
// itself finds sound.
func TestHistoryIsSound(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	c := content{documents: 10, commits: 100}
	dir := filepath.Join(t.TempDir(), "repository.git")
	if err := c.writeHistory(dir); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := git(dir, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("fsck", "--strict")
	if got := run("rev-list", "--count", "main"); got != "100" {
		t.Errorf("%s commits, want 100", got)
	}
	if got := run("rev-list", "--count", "main", "--", flagPath(often)); got < "20" || len(got) != 2 {
		t.Errorf("%s commits of the flag that changes often: a page of 20 is not full", got)
	}
	files := map[string][]byte{}
	for _, path := range strings.Fields(run("ls-tree", "-r", "--name-only", "main")) {
		files[path] = []byte(run("show", "main:"+path) + "\n")
	}
	if len(files) != c.documents+1 {
		t.Errorf("%d files, want %d", len(files), c.documents+1)
	}
	if _, problems := workspace.ReadAndVerify(files); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
}

func TestEnableChangesTheEnvironmentOnly(t *testing.T) {
	const off = `{"default": {"value": false}, "environments": [{"value": true}, {"value": false}], "variants": [{"value": false}]}`
	const on = `{"default": {"value": false}, "environments": [{"value": true}, {"value": true}], "variants": [{"value": false}]}`
	if got, err := enable(off); err != nil || got != on {
		t.Errorf("enable: %v\n%s", err, got)
	}
	if _, err := enable(`{"environments": [], "variants": [{"value": false}]}`); err == nil {
		t.Error("a flag without rules for an environment was enabled")
	}
}

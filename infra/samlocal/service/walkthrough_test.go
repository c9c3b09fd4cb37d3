package service

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/testenv"
)

// walkThrough runs what the guide to svc api tells to run, up to git.
func (l *local) walkThrough(t *testing.T) {
	bash := testenv.Program(t, "it is a shell", "bash")
	testenv.Program(t, "apt-get install jq", "jq")
	testenv.Program(t, "apt-get install curl", "curl")
	script := "set -euo pipefail\n"
	for _, line := range strings.Split(guides.Snippet(t, "devserver/guides/api.md", "walkthrough"), "\n") {
		if !strings.HasPrefix(line, "export ") && !strings.HasPrefix(line, "git ") {
			script += line + "\n"
		}
	}
	cmd := exec.CommandContext(t.Context(), bash, "-c", script)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "SVC="+l.url+"/v1", "KEY="+l.key)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`production: rollout 25% true, 75% false`, `1 targeting rule added`, `"previousCommitSha"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
	if _, body := l.do(t, "GET", "/v1/flags/dark-mode", "", nil); strings.Contains(body, "acme.example") {
		t.Errorf("the change is not undone: %s", body)
	}
}

package worktree

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/datadir"
)

// TestWhatIsEvaluatedIsWhatIsServed, also while the files as they are cannot be.
func TestWhatIsEvaluatedIsWhatIsServed(t *testing.T) {
	p := open(t)
	file, err := overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": t.TempDir()}[name] }, p.dir, "development")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := directory.Open(p.dir, "development", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	behind, fixed := true, false
	p.api, err = New(Options{Dir: p.dir, Environment: "development", Overrides: &file, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580),
		Served:          func() (datadir.State, bool) { state, _ := dir.Behind(); return state, behind },
		ServedOverrides: func() ([]byte, bool) { return dir.OverridesText(), fixed }})
	if err != nil {
		t.Fatal(err)
	}
	p.token = p.api.Token()
	says := func(environment, want string) {
		t.Helper()
		answer := p.must(http.MethodPost, "/v1/evaluate", fmt.Sprintf(`{"environment": %q, "context": {"user": {"key": "u1"}}, "explain": true}`, environment))
		e := answer["evaluations"].(map[string]any)["new-checkout"].(map[string]any)
		if got := fmt.Sprint(e["value"], " ", e["ruleSource"]); got != want {
			t.Errorf("in %s: %s, want %s", environment, got, want)
		}
	}
	says("development", "false default")
	p.must(http.MethodPatch, "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
	says("development", "false default") // nobody takes it up
	says("production", "true default")   // which is not served at all
	behind = false
	says("development", "true default")
	behind = true
	p.must(http.MethodPut, "/v1/overrides", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u1"}}`)
	says("development", "true override")
	fixed = true
	says("development", "false default") // which the start did not find
	dir.ReadOverrides(file)
	says("development", "true override")
	fixed = false
	if err := os.WriteFile(file.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	says("development", "true override") // those before stay
}

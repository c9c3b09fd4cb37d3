package worktree

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
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

// TestAWriteTellsOfABrokenFile beside it, as nothing is served of a directory that has one.
func TestAWriteTellsOfABrokenFile(t *testing.T) {
	p := open(t)
	flag := `{"key": "b", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`
	p.write("feature-flags/b.json", flag)
	patch := func(on bool, query string) any {
		return p.must("PATCH", "/v1/flags/new-checkout/environments/development"+query, fmt.Sprintf(`{"enabled": %v}`, on))["warnings"]
	}
	if warnings := patch(true, ""); warnings != nil {
		t.Error(warnings)
	}
	p.write("feature-flags/b.json", "{")
	const want = "feature-flags/b.json is broken: until it is mended, what is served of the directory stays as it was, without this change"
	told := func(what string, warnings any) {
		t.Helper()
		if text := fmt.Sprint(warnings); !strings.Contains(text, want) || strings.Count(text, "broken") != 1 {
			t.Errorf("%s: %v", what, warnings)
		}
	}
	told("a dry run", patch(false, "?dryRun=true"))
	told("a patch", patch(false, ""))
	if warnings := patch(false, ""); warnings != nil {
		t.Errorf("where nothing changes: %v", warnings)
	}
	got := p.must("GET", "/v1/flags/new-checkout/document", "")
	got["document"].(map[string]any)["name"] = "New"
	body, err := json.Marshal(map[string]any{"document": got["document"], "expectedCommitSha": got["commitSha"]})
	if err != nil {
		t.Fatal(err)
	}
	told("a put", p.must("PUT", "/v1/flags/new-checkout/document", string(body))["warnings"])
	told("a change set", p.must("POST", "/v1/changes", `{"operations": [{"op": "create", "type": "feature_flag", "body": {"key": "c"}}, {"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "default", "body": {"enabled": true}}]}`)["warnings"])
	p.write("feature-flags/b.json", flag)
	if warnings := patch(true, ""); warnings != nil {
		t.Error(warnings)
	}
}

// TestTheEnvironmentsOfABrokenWorkspaceFile are those of the last good one, also where it
// was broken before anybody has asked.
func TestTheEnvironmentsOfABrokenWorkspaceFile(t *testing.T) {
	for name, broken := range map[string]string{"no JSON": "{{", "nothing": "", "another list": `{"environments": ["qa", 7]}`} {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, asked before: %t", name, asked), func(t *testing.T) {
				p := open(t)
				p.write("svc.json", `{"environments": ["development", {"name": "production", "protected": true}]}`)
				dir, err := directory.Open(p.dir, "development", func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				if p.api, err = New(Options{Dir: p.dir, Environment: "development", Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580),
					Served: func() (datadir.State, bool) { state, _ := dir.Behind(); return state, true }}); err != nil {
					t.Fatal(err)
				}
				p.token = p.api.Token()
				const want = `[map[environmentType:development name:development protected:false] map[environmentType:production name:production protected:true]]`
				environments := func() {
					t.Helper()
					if got := fmt.Sprint(p.must("GET", "/v1/environments", "")["environments"]); got != want {
						t.Errorf("the environments are %s, want %s", got, want)
					}
				}
				if asked {
					environments()
				}
				p.write("svc.json", broken)
				environments()
				p.must("PATCH", "/v1/flags/new-checkout/environments/production", `{"enabled": true}`)
				p.must("POST", "/v1/evaluate", `{"environment": "production", "context": {}}`)
				if d := p.must("GET", "/v1/workspace", ""); fmt.Sprint(d["brokenDocuments"]) != "1" {
					t.Errorf("the workspace is %v", d)
				}
				p.write("svc.json", `{"environments": ["production"]}`)
				if got := fmt.Sprint(p.must("GET", "/v1/environments", "")["environments"]); strings.Contains(got, "development") {
					t.Errorf("mended, the environments are %s", got)
				}
			})
		}
	}
}

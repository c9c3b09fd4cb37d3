package worktree

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/datadir"
)

// TestWhatIsEvaluatedIsWhatIsServed, also while the files as they are cannot be.
func TestWhatIsEvaluatedIsWhatIsServed(t *testing.T) {
	p := open(t)
	file, err := overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": t.TempDir()}[name] }, p.dir, "development")
	must(t, err)
	dir, err := directory.Open(p.dir, "development", func(string) {})
	must(t, err)
	behind, fixed := true, false
	p.api, err = New(Options{Dir: p.dir, Environment: "development", Overrides: &file, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580),
		Served:          func() (datadir.State, bool) { state, _ := dir.Behind(); return state, behind },
		ServedOverrides: func() ([]byte, bool) { return dir.OverridesText(), fixed }})
	must(t, err)
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
	must(t, os.WriteFile(file.Path, []byte("{"), 0o600))
	says("development", "true override") // those before stay
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
				must(t, err)
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

// TestAWriteBesideABrokenFileIsServed: what is broken holds back nothing else.
func TestAWriteBesideABrokenFileIsServed(t *testing.T) {
	p := open(t)
	dir, err := directory.Open(p.dir, "development", func(string) {})
	must(t, err)
	var following sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	following.Go(func() { dir.Follow(ctx) })
	defer following.Wait()
	defer stop()
	if p.api, err = New(Options{Dir: p.dir, Environment: "development", Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580), Served: dir.Behind}); err != nil {
		t.Fatal(err)
	}
	p.token = p.api.Token()
	p.write("feature-flags/b.json", "{")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, behind := dir.Behind(); behind {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the broken file is not seen")
		}
	}
	p.must("PATCH", "/v1/flags/new-checkout/environments/development", `{"enabled": true}`)
	p.must("POST", "/v1/flags", `{"key": "made"}`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		answer := p.must("POST", "/v1/evaluate", `{"environment": "development", "context": {}}`)
		got := fmt.Sprint(answer["evaluations"])
		if strings.Contains(got, "made:") && strings.Contains(fmt.Sprint(answer["evaluations"].(map[string]any)["new-checkout"]), "value:true") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("what is served is %s", got)
		}
	}
}

package worktree

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/testing/must"
)

// TestWhatIsEvaluatedIsWhatIsServed, also while the files as they are cannot be.
func TestWhatIsEvaluatedIsWhatIsServed(t *testing.T) {
	p := open(t)
	file := must.Get(overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": t.TempDir()}[name] }, p.dir, "development"))(t)
	dir := must.Get(directory.Open(p.dir, "development", func(string) {}))(t)
	behind, fixed := true, false
	p.api = must.Get(New(Options{Dir: p.dir, Environment: "development", Overrides: &file, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580),
		Served:          func() (datadir.State, bool) { state, _ := dir.Behind(); return state, behind },
		ServedOverrides: func() ([]byte, bool) { return dir.OverridesText(), fixed }}))(t)
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
	must.Do(t, os.WriteFile(file.Path, []byte("{"), 0o600))
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
				must.Do(t, err)
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
	must.Do(t, err)
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

// poll asks as an application does, of a server that takes every question.
func (p *page) poll(method, path, body string) {
	p.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("User-Agent", "the app")
	p.api.Beside(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.Contains(body+path, "refused") {
			w.WriteHeader(http.StatusBadRequest)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func native(context string) string {
	return "/api/v2/configs/eval-with-context/" + base64.URLEncoding.EncodeToString([]byte(context))
}

// What applications ask with is what rules are completed from, and what a change is
// tried on: it is told of clients as a whole, and as contexts one by one.
func TestContextsOfPollsAreRemembered(t *testing.T) {
	p := open(t)
	p.poll("GET", native(`{"user": {"key": "u1", "plan": "pro", "age": 30, "beta": true, "teams": ["a", "b"]}, "device": {"os": "linux"}}`), "")
	p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "u2", "user.plan": "free", "team": {"key": "t1"}, "locale": "de"}}`)
	p.poll("POST", "/ofrep/v1/evaluate/flags/new-checkout", `{"context": {"targetingKey": "u1", "user.key": "u3"}}`)
	for _, odd := range []string{`{`, `[]`, `{"user": 1}`, `{"user": {"key": ["u"]}}`, `{"user": {"plan": "` + strings.Repeat("x", maxContext) + `", "key": "long"}}`, "\xff"} {
		p.poll("GET", native(odd), "")
		p.poll("POST", "/ofrep/v1/evaluate/flags", odd)
		p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": `+odd+`}`)
	}
	p.poll("POST", "/ofrep/v1/evaluate/flags/refused", `{"context": {"targetingKey": "stranger"}}`)

	found := map[string]string{}
	for _, c := range p.must("GET", "/v1/contexts?properties=true&limit=100", "")["contexts"].([]any) {
		row := c.(map[string]any)
		found[fmt.Sprint(row["type"], "/", row["key"], " ", row["environment"])] = fmt.Sprint(row["context"])
	}
	want := map[string]string{
		"user/u1 development": "map[user:map[age:30 beta:true key:u1 plan:pro teams:[a b]]]",
		"user/u2 development": "map[user:map[key:u2 plan:free]]",
		"user/u3 development": "map[user:map[key:u3]]",
		"team/t1 development": "map[team:map[key:t1]]",
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("contexts are %v, want %v", found, want)
	}
	if some := p.must("GET", "/v1/contexts?query=PRO", "")["contexts"].([]any); len(some) != 1 {
		t.Errorf("%v have pro", some)
	}

	told := map[string]map[string]any{}
	for _, c := range p.must("GET", "/v1/clients", "")["clients"].([]any) {
		told[c.(map[string]any)["protocol"].(string)] = c.(map[string]any)
	}
	if got := fmt.Sprint(told["native"]["contexts"], told["native"]["flags"], told["native"]["all"]); !strings.Contains(got, "map[device:map[os:linux] user:map[age:30 beta:true key:u1 plan:pro teams:[a b]]]") || !strings.HasSuffix(got, "[] true") {
		t.Error(got)
	}
	got := fmt.Sprint(told["ofrep"]["contexts"], told["ofrep"]["flags"], told["ofrep"]["all"])
	for _, part := range []string{"map[:map[locale:de] team:map[key:t1] user:map[key:u2 plan:free]]", "map[user:map[key:u3]]", "[new-checkout]", "true"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}

	p.write(flagPath, flagText)
	after := p.must("PATCH", "/v1/flags/new-checkout/environments/development?dryRun=true&impact=true", `{"enabled": true}`)
	if reached := fmt.Sprint(after["impact"]); !strings.Contains(reached, "contexts:4") || !strings.Contains(reached, "changed:4") {
		t.Errorf("the change reaches %s", reached)
	}
	var walked []string
	for at := "?environment=development&limit=1"; at != ""; {
		page := p.must("GET", "/v1/contexts/export"+at, "")
		for _, c := range page["contexts"].([]any) {
			walked = append(walked, fmt.Sprint(c.(map[string]any)["key"]))
		}
		cursor, more := page["nextCursor"].(string)
		if at = ""; more {
			at = "?environment=development&limit=1&cursor=" + cursor
		}
	}
	if len(walked) != 4 || walked[0] != "t1" {
		t.Errorf("%v are exported", walked)
	}
	p.must("DELETE", "/v1/contexts/user/u1", "")
	if left := p.must("GET", "/v1/contexts", "")["contexts"].([]any); len(left) != 3 {
		t.Errorf("%v are left", left)
	}
}

// Whatever asks, and however often, little is remembered.
func TestRememberedContextsAreBounded(t *testing.T) {
	p := open(t)
	for i := range maxSeenContexts + 20 {
		p.poll("GET", native(fmt.Sprintf(`{"user": {"key": "u%d"}}`, i)), "")
		p.poll("POST", fmt.Sprintf("/ofrep/v1/evaluate/flags/flag-%d", i), `{"context": {"targetingKey": "same"}}`)
	}
	p.poll("POST", "/ofrep/v1/evaluate/flags", `{"context": {"targetingKey": "`+strings.Repeat("x", 2*maxAsked)+`"}}`)
	if n := p.api.clients.contexts.saved.Held(); n != maxSeenContexts {
		t.Errorf("%d contexts are remembered", n)
	}
	for _, c := range p.must("GET", "/v1/clients", "")["clients"].([]any) {
		row := c.(map[string]any)
		if n := len(row["contexts"].([]any)); n > maxClientContexts {
			t.Errorf("%d contexts of a client", n)
		}
		if n := len(row["flags"].([]any)); n > maxClientFlags {
			t.Errorf("%d flags of a client", n)
		}
	}
}

// TestAWriteOfOverridesIsWhatItSays: a dry run writes nothing, and a query that is not
// understood is refused and not left out.
func TestAWriteOfOverridesIsWhatItSays(t *testing.T) {
	const body = `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u2"}}`
	for _, tt := range []struct {
		method, query, body string
		status              int
		answer              string
		left                int // of three
	}{
		{"PUT", "?dryRun=true", body, 200, "value:true", 3},
		{"PUT", "?dryRun=false", body, 200, "value:true", 4},
		{"PUT", "", body, 200, "value:true", 4},
		{"PUT", "?dryRun=1", body, 400, "?dryRun", 3},
		{"PUT", "?dryRun=true&dryRun=false", body, 400, "there twice", 3},
		{"PUT", "?dryrun=true", body, 400, "unknown query parameter; known are dryRun", 3},
		{"PUT", "?key=new-checkout", body, 400, "?key", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key"}}`, 400, "for: value is missing", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": null}}`, 400, "for: value is missing", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": ""}}`, 200, "value:true", 4},
		{"PUT", "", `{"key": "new-checkout", "value": "yes"}`, 400, "", 3},
		{"PUT", "", `{"key": "none", "value": true}`, 404, "", 3},
		{"PUT", "", `{"value": true}`, 400, "", 3},
		{"PUT", "", `{`, 400, "", 3},
		{"PUT", "", `{"key": "new-checkout"}`, 400, "", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "ttl": 1}`, 400, "", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "until": "2001-01-01T00:00:00Z"}`, 400, "", 3},
		{"PUT", "", `{"key": "new-checkout", "value": true, "for": {"property": "plan", "value": "x"}}`, 400, "", 3},
		{"DELETE", "?dryRun=true", "", 200, "cleared:3", 3},
		{"DELETE", "?key=new-checkout&dryRun=true", "", 200, "cleared:2", 3},
		{"DELETE", "", `{"key": "new-checkout"}`, 400, "DELETE takes no body; name what to take back in the query: ?key=", 3},
		{"DELETE", "?Key=new-checkout", "", 400, "unknown query parameter", 3},
		{"DELETE", "?key=", "", 400, "?key", 3},
		{"DELETE", "?key=new-checkout;x", "", 400, "the query", 3},
		{"DELETE", "?for=user.key%3Du1", "", 400, "?for", 3},
		{"DELETE", "?key=new-checkout&for=u1", "", 400, "?for", 3},
		{"DELETE", "?key=new-checkout&for=user.key%3Du1", "", 200, "cleared:1", 2},
		{"DELETE", "?key=new-checkout&for=user.key%3Du9", "", 200, "cleared:0", 3},
		{"DELETE", "?key=new-checkout&for=", "", 200, "cleared:1", 2},
		{"DELETE", "?key=new-checkout", "", 200, "cleared:2", 1},
		{"DELETE", "", "", 200, "cleared:3", 0},
	} {
		p := open(t)
		p.write("configs/number.json", `{"key": "number", "type": "config", "valueType": "int", "sendToClientSdk": true, "default": {"rules": []}}`)
		for _, o := range []string{`{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u1"}}`, `{"key": "new-checkout", "value": false}`, `{"key": "number", "value": 1}`} {
			p.must("PUT", "/v1/overrides", o)
		}
		status, answer := p.ask(tt.method, "/v1/overrides"+tt.query, tt.body)
		if text := fmt.Sprint(answer); status != tt.status || !strings.Contains(text, tt.answer) {
			t.Errorf("%s %s %s: %d %s, want %d %s", tt.method, tt.query, tt.body, status, text, tt.status, tt.answer)
		}
		if left := len(p.must("GET", "/v1/overrides", "")["overrides"].([]any)); left != tt.left {
			t.Errorf("%s %s %s: %d are left, want %d", tt.method, tt.query, tt.body, left, tt.left)
		}
	}
}

package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestARemotesCommitIsDecided in a change request that the remote is the author of: what both
// sides have changed, what others have to approve, and what is refused. Nothing is pushed
// until then, and svc goes on; then a merge of both is at the remote.
func TestARemotesCommitIsDecided(t *testing.T) {
	files := apiload.Fixture()
	files["svc.json"] = strings.Replace(files["svc.json"], "{", `{"review": {"production": {}}, `, 1)
	s := &site{workplace: newWorkplace(t, files, 3), t: t, client: apiload.NewHTTPClient(t)}
	dir := t.TempDir()
	there, clone := filepath.Join(dir, "flags.git"), filepath.Join(dir, "clone")
	realgit.Run(t, dir, "init", "-q", "--bare", "-b", "main", there)
	realgit.Run(t, there, "config", "http.receivepack", "true")
	git := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(realgit.Run(t, dir, "--exec-path")), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir}}
	var away atomic.Bool
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		git.ServeHTTP(w, r)
	}))
	defer remote.Close()
	start := func() {
		t.Helper()
		port := freeport.Take()
		server := must.Get(svcbinary.Start(must.Get(svcbinary.Swift())(t), "api", "--data", s.dir, "--port", port, "--remote", remote.URL+"/flags.git"))(t)
		t.Cleanup(server.Kill)
		s.p = &process{server, "http://127.0.0.1:" + port}
	}
	start()
	await := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(apiload.Patience); !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not come\n%s", what, s.p.Log)
			}
		}
	}
	here := func() string { return realgit.Run(t, s.repository(), "rev-parse", "refs/heads/main") }
	inStep := func() bool {
		tip, err := realgit.Try(t, there, "rev-parse", "main")
		return err == nil && tip == here()
	}
	await("the first push", inStep)
	realgit.Run(t, dir, "clone", "-q", there, clone)

	const redesign = "feature-flags/redesign.json"
	edit := func(old, new string) func(text string) string {
		return func(text string) string {
			t.Helper()
			if !strings.Contains(text, old) {
				t.Fatalf("%q is not in %s", old, text)
			}
			return strings.Replace(text, old, new, 1)
		}
	}
	type detail struct {
		ID, State, Title string
		Author           struct{ ID, Name string }
		Preview          struct {
			Digest   string
			Conflict any
			Approved bool
			Results  []struct{ Before, After json.RawMessage }
		}
	}
	number := 0
	for _, test := range []struct {
		name     string
		theirs   func(text string) string
		both     bool   // here too
		end      string // of the request
		approval bool
		refused  bool
		reason   string // at /v1/workspace
		here     string // in the file afterwards
	}{
		{"changed on both sides, taken", edit(`"environments": [`, `"environments": [{"id": "staging", "rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["first"]}}], "value": {"type": "bool", "value": true}},
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}, `), true, "apply", false, false, "changed here and at the remote: feature-flags/redesign.json. ", "first"},
		{"changed on both sides, kept", edit(`"first"`, `"second"`), true, "close", false, false, "changed here and at the remote: feature-flags/redesign.json. ", "first"},
		{"others have to approve", edit(`"beta"`, `"gamma"`), false, "apply", true, false, "what was committed at the remote is refused: ", "gamma"},
		{"others do not approve", edit(`"gamma"`, `"delta"`), false, "close", true, false, "what was committed at the remote is refused: ", "gamma"},
		{"refused", func(string) string { return "{" }, false, "close", false, true, "what was committed at the remote is refused: ", "gamma"},
	} {
		away.Store(true)
		realgit.Run(t, clone, "pull", "-q", "--ff-only")
		file := filepath.Join(clone, redesign)
		must.Do(t, os.WriteFile(file, []byte(test.theirs(string(must.Get(os.ReadFile(file))(t)))), 0o600))
		realgit.Run(t, clone, "commit", "-q", "-a", "-m", test.name)
		realgit.Run(t, clone, "push", "-q")
		tip := realgit.Run(t, there, "rev-parse", "main")
		number++
		if test.both {
			s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, true))
		}
		s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/development", fmt.Sprintf(toggle, true)) // else the next look is in a minute
		away.Store(false)
		path := fmt.Sprintf("/v1/change-requests/%d", number)
		await(test.name+": the change request", func() bool {
			code, _ := s.ask("GET", path, "")
			return code == 200
		})
		var shown detail
		look := func() { must.Do(t, json.Unmarshal([]byte(s.expect(200, "", "GET", path, "")), &shown)) }
		look()
		if shown.State != "open" || !strings.HasPrefix(shown.Author.Name, "Remote "+remote.URL) || (shown.Preview.Conflict != nil) != test.refused {
			t.Errorf("%s: %+v", test.name, shown)
		}
		if !test.refused && (len(shown.Preview.Results) != 1 || len(shown.Preview.Results[0].Before) == 0 || len(shown.Preview.Results[0].After) == 0 || shown.Preview.Approved == test.approval) {
			t.Errorf("%s shows %s", test.name, s.expect(200, "", "GET", path, ""))
		}
		must.Do(t, s.p.Stop()) // which forgets nothing
		start()
		s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/development", fmt.Sprintf(toggle, false))
		await(test.name+": the reason", func() bool {
			return strings.Contains(s.p.Log.String(), fmt.Sprintf("Until the change request %d is decided nothing is pushed", number))
		})
		s.expect(200, fmt.Sprintf(`"state":"waiting","reason":"%s`, test.reason), "GET", "/v1/workspace", "")
		s.expect(200, fmt.Sprintf(`"changeRequest":"%d"`, number), "GET", "/v1/workspace", "")
		if now := realgit.Run(t, there, "rev-parse", "main"); now != tip {
			t.Errorf("%s: something is pushed before it is decided", test.name)
		}
		if code, _ := s.ask("GET", fmt.Sprintf("/v1/change-requests/%d", number+1), ""); code != 404 {
			t.Errorf("%s is asked twice", test.name)
		}
		if test.approval && test.end == "apply" {
			s.expect(403, "production", "POST", path+"/apply", "")
			look()
			mine := s.keys[0]
			s.keys[0] = s.keys[2]
			s.expect(200, "", "POST", path+"/approvals", fmt.Sprintf(`{"digest": %q}`, shown.Preview.Digest))
			s.keys[0] = mine
		}
		s.expect(200, "", "POST", path+"/"+test.end, "")
		await(test.name+": the push", inStep)
		await(test.name+": it is told", func() bool {
			_, text := s.ask("GET", "/v1/workspace", "")
			return strings.Contains(text, `"behind":0,"state":"in_step","reason":null,"changeRequest":null,"since":"2`)
		})
		if parents := realgit.Run(t, there, "log", "-1", "--format=%P", "main"); !strings.HasSuffix(parents, tip) || len(strings.Fields(parents)) != 2 {
			t.Errorf("%s: the parents are %s, want %s second", test.name, parents, tip)
		}
		if text := realgit.Run(t, there, "show", "main:"+redesign); !strings.Contains(text, test.here) {
			t.Errorf("%s: %s", test.name, text)
		}
	}

	// What is mended at the remote needs no decision any more.
	away.Store(true)
	realgit.Run(t, clone, "pull", "-q", "--ff-only")
	file := filepath.Join(clone, redesign)
	good := must.Get(os.ReadFile(file))(t)
	for i, text := range []string{"{", string(good)} {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		realgit.Run(t, clone, "commit", "-q", "-a", "-m", fmt.Sprint("Round ", i))
		realgit.Run(t, clone, "push", "-q")
		away.Store(false)
		if i == 0 {
			s.expect(200, `"changed":true`, "PATCH", "/v1/flags/redesign/environments/staging", fmt.Sprintf(toggle, false))
			await("the change request", func() bool {
				code, _ := s.ask("GET", fmt.Sprintf("/v1/change-requests/%d", number+1), "")
				return code == 200
			})
		}
	}
	must.Do(t, s.p.Stop()) // else the next look is in a minute
	start()
	await("what was mended", inStep)
	await("the end of the request", func() bool {
		_, text := s.ask("GET", fmt.Sprintf("/v1/change-requests/%d", number+1), "")
		return strings.Contains(text, `"state":"closed"`)
	})
	must.Do(t, s.p.Stop())
}

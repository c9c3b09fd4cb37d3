package worktree

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

const (
	own      = "127.0.0.1:6580"
	flagPath = "feature-flags/new-checkout.json"
)

// flagText is a flag as somebody formats it who likes tabs and has Windows.
var flagText = strings.ReplaceAll(`{
	"$schema": "https://flags.test/schemas/v1/stored-config.json",
	"key": "new-checkout",
	"type": "feature_flag", "valueType": "bool",
	"x-owner": { "team": "web", "weight": 1.0 },

	"default": {
		"rules": [
			{ "criteria": [{ "operator": "ALWAYS_TRUE" }], "value": { "type": "bool", "value": false } }
		]
	},
	"tags": ["a",   "b"]
}
`, "\n", "\r\n")

type page struct {
	*testing.T
	dir   string
	api   *API
	token string
}

func open(t *testing.T) *page {
	t.Helper()
	dir, state := filepath.Join(t.TempDir(), "our-config"), t.TempDir()
	p := &page{T: t, dir: dir}
	p.write("svc.json", `{"environments": ["development", "production"]}`)
	p.write(flagPath, flagText)
	file, err := overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, dir, "development")
	must.Do(t, err)
	if p.api, err = New(Options{Dir: dir, Environment: "development", Overrides: &file, Who: "Ada", Hosts: OwnHosts("127.0.0.1", 6580),
		ServedOverrides: func() ([]byte, bool) { return nil, false }}); err != nil {
		t.Fatal(err)
	}
	p.token = p.api.Token()
	return p
}

func (p *page) write(path, text string) {
	p.Helper()
	path = filepath.Join(p.dir, path)
	must.Do(p, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(p, os.WriteFile(path, []byte(text), 0o666))
}

func (p *page) read(path string) string {
	p.Helper()
	text := must.Get(os.ReadFile(filepath.Join(p.dir, path)))(p)
	return string(text)
}

// ask sends a request as the page does.
func (p *page) ask(method, path, body string) (status int, answer map[string]any) {
	p.Helper()
	r := httptest.NewRequest(method, "http://"+own+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+p.token)
	if method != http.MethodGet {
		r.Header.Set("Origin", "http://"+own)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	p.api.Beside(http.NotFoundHandler()).ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		p.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w.Code, answer
}

// must is ask for a request that succeeds.
func (p *page) must(method, path, body string) map[string]any {
	p.Helper()
	status, answer := p.ask(method, path, body)
	if status != http.StatusOK {
		p.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return answer
}

func blobOf(text string) string { return object.Hash(object.Blob, []byte(text)).String() }

// TestOnlyTheOwnPageIsAnswered, whatever else a request has.
func TestOnlyTheOwnPageIsAnswered(t *testing.T) {
	p := open(t)
	handler := p.api.Beside(delivery.CORS([]string{delivery.AnyOrigin}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "delivered")
	})))
	bearer := "Bearer " + p.token
	for _, tt := range []struct {
		name, method, path, host string
		header                   http.Header
		want                     int
	}{
		{"the page", "GET", "/v1/flags", own, http.Header{"Authorization": {bearer}}, 200},
		{"the page by another name", "GET", "/v1/flags", "localhost:6580", http.Header{"Authorization": {bearer}, "Origin": {"http://localhost:6580"}}, 200},
		{"a rebound name", "GET", "/v1/flags", "evil.test:6580", http.Header{"Authorization": {bearer}, "Origin": {"http://evil.test:6580"}}, 421},
		{"another port", "GET", "/v1/flags", "127.0.0.1:80", http.Header{"Authorization": {bearer}}, 421},
		{"no host", "GET", "/v1/flags", "", http.Header{"Authorization": {bearer}}, 421},
		{"another origin", "GET", "/v1/flags", own, http.Header{"Authorization": {bearer}, "Origin": {"http://evil.test"}}, 403},
		{"another of the server's own", "POST", "/v1/flags", own, http.Header{"Authorization": {bearer}, "Origin": {"http://localhost:6580"}}, 403},
		{"an opaque origin", "POST", "/v1/flags", own, http.Header{"Authorization": {bearer}, "Origin": {"null"}}, 403},
		{"two origins", "POST", "/v1/flags", own, http.Header{"Authorization": {bearer}, "Origin": {"http://" + own, "http://evil.test"}}, 403},
		{"another site", "GET", "/v1/flags", own, http.Header{"Authorization": {bearer}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		{"no token", "GET", "/v1/flags", own, http.Header{}, 401},
		{"no token for the reference", "GET", "/v1/docs", own, http.Header{"Sec-Fetch-Site": {"same-origin"}}, 200},
		{"the reference by a rebound name", "GET", "/v1/docs", "evil.test:6580", http.Header{}, 421},
		{"the description for another origin", "GET", "/v1/openapi.json", own, http.Header{"Origin": {"http://evil.test"}}, 403},
		{"no token at a path without anything", "GET", "/v1/nothing", own, http.Header{}, 401},
		{"the schema of documents", "GET", "/schemas/v1/stored-config.json", own, http.Header{"Authorization": {bearer}}, 200},
		{"no token for the schema of documents", "GET", "/schemas/v1/stored-config.json", own, http.Header{}, 401},
		{"no token to write", "PATCH", "/v1/flags/new-checkout/environments/development", own, http.Header{"Origin": {"http://" + own}}, 401},
		{"no token for overrides", "PUT", "/v1/overrides", own, http.Header{"Origin": {"http://" + own}}, 401},
		{"another token", "GET", "/v1/flags", own, http.Header{"Authorization": {bearer + "x"}}, 401},
		{"two tokens", "GET", "/v1/flags", own, http.Header{"Authorization": {bearer, bearer}}, 401},
		{"another scheme", "GET", "/v1/flags", own, http.Header{"Authorization": {"Basic " + p.token}}, 401},
		{"a cookie", "GET", "/v1/flags", own, http.Header{"Cookie": {"token=" + p.token}}, 401},
		{"a preflight", "OPTIONS", "/v1/flags", own, http.Header{"Origin": {"http://evil.test"}, "Access-Control-Request-Method": {"PATCH"}}, 403},
		{"an escaped path", "GET", "/%761/flags", own, http.Header{}, 401},
	} {
		r := httptest.NewRequest(tt.method, tt.path, nil)
		r.Host, r.Header = tt.host, tt.header
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
		if tt.want != 200 && (strings.Contains(w.Body.String(), "checkout") || strings.Contains(w.Body.String(), p.token)) {
			t.Errorf("%s: the refusal has content: %s", tt.name, w.Body)
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: it is answered with %s", tt.name, name)
			}
		}
	}
	// What browsers of other origins may read stays theirs.
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", "/api/v2/configs/eval-with-context/e30", nil))
	if w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Body.String() != "delivered" {
		t.Error(w.Header(), w.Body)
	}
	if p.read(flagPath) != flagText {
		t.Error("a refused request has written")
	}
}

func TestAWriteKeepsEveryByteThatItDoesNotTouch(t *testing.T) {
	p := open(t)
	before := p.must("GET", "/v1/flags/new-checkout/document", "")
	if before["commitSha"] != blobOf(flagText) {
		t.Errorf("the version is %v, want the id of the content %s", before["commitSha"], blobOf(flagText))
	}
	dry := p.must("PATCH", "/v1/flags/new-checkout/environments/default?dryRun=true", `{"enabled": true}`)
	if got := fmt.Sprint(dry["messages"]); !strings.Contains(got, "enabled set to true") || p.read(flagPath) != flagText {
		t.Errorf("a dry run says %s", got)
	}
	patched := p.must("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
	want := strings.Replace(flagText, `"value": false`, `"value": true`, 1)
	if got := p.read(flagPath); got != want {
		t.Errorf("written is\n%q, want\n%q", got, want)
	}
	if patched["commitSha"] != blobOf(want) || patched["previousCommitSha"] != blobOf(flagText) || patched["changed"] != true {
		t.Error(patched)
	}
	if again := p.must("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`); again["changed"] != false || again["commitSha"] != blobOf(want) {
		t.Error(again)
	}

	// A document that went through JavaScript comes back as it was, but for the change.
	document := p.must("GET", "/v1/flags/new-checkout/document", "")["document"].(map[string]any)
	document["description"] = "The new one"
	delete(document, "$schema")
	body, _ := json.Marshal(map[string]any{"document": document, "expectedCommitSha": blobOf(want)})
	put := p.must("PUT", "/v1/flags/new-checkout/document", string(body))
	got := p.read(flagPath)
	if put["commitSha"] != blobOf(got) {
		t.Error(put)
	}
	for _, line := range strings.Split(strings.TrimSuffix(want, "\r\n}\r\n"), "\r\n") {
		if !strings.Contains(got, line) {
			t.Errorf("%q is no more in\n%s", line, got)
		}
	}
	if !strings.Contains(got, "\t\"description\": \"The new one\"") || strings.Count(got, "\r\n") != strings.Count(got, "\n") {
		t.Errorf("%q", got)
	}

	feed := fmt.Sprint(p.must("GET", "/v1/activity", ""))
	if !strings.Contains(feed, "enabled set to true") || !strings.Contains(feed, "description") {
		t.Error(feed)
	}
}

func TestAnEditOnDiskIsAConflict(t *testing.T) {
	p := open(t)
	if feed := fmt.Sprint(p.must("GET", "/v1/activity?type=feature_flag&key=new-checkout", "")); !strings.Contains(feed, "the file as svc serve found it") || strings.Contains(feed, "created") {
		t.Error(feed)
	}
	seen := p.must("GET", "/v1/flags/new-checkout", "")["commitSha"].(string)
	edited := strings.Replace(flagText, `"team": "web"`, `"team": "shop"`, 1)
	p.write(flagPath, edited)
	for _, path := range []string{"/v1/flags/new-checkout/environments/default", "/v1/flags/new-checkout/environments/default?dryRun=true"} {
		status, answer := p.ask("PATCH", path, `{"enabled": true, "expectedCommitSha": "`+seen+`"}`)
		details, _ := answer["details"].(map[string]any)
		if status != 409 || details["code"] != "STALE_COMMIT_SHA" || details["currentCommitSha"] != blobOf(edited) || !strings.Contains(fmt.Sprint(details["changes"]), "edited on disk") || p.read(flagPath) != edited {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	// Without a token the operation is made on what is there now.
	p.must("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true}`)
	if want := strings.Replace(edited, `"value": false`, `"value": true`, 1); p.read(flagPath) != want {
		t.Errorf("%q", p.read(flagPath))
	}
	// A content that has come back is the one that the token names.
	p.write(flagPath, flagText)
	p.must("PATCH", "/v1/flags/new-checkout/environments/default", `{"enabled": true, "expectedCommitSha": "`+seen+`"}`)
}

func TestItemsAreCreatedAndDeleted(t *testing.T) {
	p := open(t)
	made := p.must("POST", "/v1/flags", `{"key": "another"}`)
	path := "feature-flags/another.json"
	if made["commitSha"] != blobOf(p.read(path)) {
		t.Error(made)
	}
	if status, answer := p.ask("POST", "/v1/configs", `{"key": "Another", "valueType": "int", "value": 1}`); status != 409 {
		t.Error(status, answer)
	}
	p.write("feature-flags/theirs.json", "{")
	if status, answer := p.ask("POST", "/v1/flags", `{"key": "theirs"}`); status != 409 || p.read("feature-flags/theirs.json") != "{" {
		t.Error(status, answer)
	}
	must.Do(t, os.MkdirAll(filepath.Join(p.dir, "feature-flags/folder.json"), 0o777))
	if status, answer := p.ask("POST", "/v1/flags", `{"key": "folder"}`); status != 422 {
		t.Error(status, answer)
	}
	gone := p.must("DELETE", "/v1/flags/another", "")
	if _, err := os.Stat(filepath.Join(p.dir, path)); !os.IsNotExist(err) || gone["previousCommitSha"] != made["commitSha"] {
		t.Error(gone, err)
	}
	all := p.must("POST", "/v1/changes", `{"operations": [
		{"op": "create", "type": "config", "body": {"key": "a", "valueType": "int", "value": 1}},
		{"op": "patch", "type": "feature_flag", "key": "new-checkout", "environment": "production", "body": {"enabled": true}}]}`)
	if all["changed"] != true || !strings.Contains(p.read(flagPath), `"production"`) || !strings.Contains(p.read("configs/a.json"), `"int"`) {
		t.Error(all)
	}
	if !strings.HasPrefix(p.read(flagPath), "{\r\n\t\"$schema\"") {
		t.Errorf("%q", p.read(flagPath))
	}
}

func TestOverridesProblemsAndClients(t *testing.T) {
	p := open(t)
	if list := p.must("GET", "/v1/overrides", ""); list["environment"] != "development" || len(list["overrides"].([]any)) != 0 {
		t.Error(list)
	}
	p.must("PUT", "/v1/overrides", `{"key": "new-checkout", "value": true, "for": {"property": "user.key", "value": "u1"}}`)
	for context, want := range map[string]string{`{"user": {"key": "u1"}}`: "true OVERRIDE override", `{"user": {"key": "u2"}}`: "false STATIC default"} {
		answer := p.must("POST", "/v1/evaluate", `{"environment": "development", "context": `+context+`, "explain": true}`)
		e := answer["evaluations"].(map[string]any)["new-checkout"].(map[string]any)
		if got := fmt.Sprint(e["value"], " ", e["reason"], " ", e["ruleSource"]); got != want {
			t.Errorf("%s is told %s, want %s", context, got, want)
		}
	}
	if e := p.must("POST", "/v1/evaluate", `{"environment": "production", "context": {"user": {"key": "u1"}}}`); strings.Contains(fmt.Sprint(e), "OVERRIDE") {
		t.Error("production is overridden", e)
	}
	if status, _ := p.ask("POST", "/v1/overrides", "{}"); status != http.StatusMethodNotAllowed {
		t.Error(status)
	}

	p.write("feature-flags/broken.json", "{")
	if problems := fmt.Sprint(p.must("GET", "/v1/problems", "")); !strings.Contains(problems, "feature-flags/broken.json") || !strings.Contains(problems, "ok:false") {
		t.Error(problems)
	}
	p.must("GET", "/v1/flags", "")

	app := httptest.NewRequest("GET", "/api/v2/configs/eval-with-context/e30", nil)
	app.Header.Set("User-Agent", "the app")
	app.Header.Set("Origin", "http://localhost:3000")
	beside := p.api.Beside(http.NotFoundHandler())
	for range 2 {
		beside.ServeHTTP(httptest.NewRecorder(), app)
	}
	if seen := fmt.Sprint(p.must("GET", "/v1/clients", "")); !strings.Contains(seen, "origin:http://localhost:3000") || !strings.Contains(seen, "requests:2") {
		t.Error(seen)
	}
	for i := range 2 * maxClients {
		app.Header.Set("User-Agent", fmt.Sprint("app ", i))
		beside.ServeHTTP(httptest.NewRecorder(), app)
	}
	if n := len(p.must("GET", "/v1/clients", "")["clients"].([]any)); n != maxClients {
		t.Errorf("%d clients are remembered", n)
	}
}

func TestErrorsOfWritesAreToldWithoutTheirCause(t *testing.T) {
	f := fault.Of(writeError(&fs.PathError{Op: "open", Path: "/secret/place", Err: syscall.EACCES}, flagPath))
	if f.Kind != fault.Forbidden || !strings.Contains(f.Message, flagPath) || strings.Contains(f.Message, "secret") {
		t.Error(f)
	}
	f = fault.Of(writeError(&fs.PathError{Op: "write", Path: "/secret/place", Err: syscall.EIO}, flagPath))
	if f.Kind != fault.Internal || !strings.Contains(f.Message, syscall.EIO.Error()) || strings.Contains(f.Message, "secret") {
		t.Error(f)
	}
	f = fault.Of(writeError(&fs.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC}, flagPath))
	if f.Kind != fault.Unavailable || f.Message != fault.FullDisk {
		t.Error(f)
	}
	p := open(t)
	must.Do(t, os.Symlink(t.TempDir(), filepath.Join(p.dir, "segments")))
	if status, answer := p.ask("POST", "/v1/segments", `{"key":"a"}`); status != 422 || !strings.Contains(fmt.Sprint(answer["message"]), "segments/a.json cannot be written: its folder is a symbolic link that leads out of the directory") {
		t.Errorf("%d %v", status, answer)
	}
	must.Do(t, os.Symlink("nowhere", filepath.Join(p.dir, "configs")))
	if status, answer := p.ask("GET", "/v1/flags", ""); status != 503 || !strings.HasPrefix(fmt.Sprint(answer["message"]), "configs: this is a symbolic link to nowhere") {
		t.Errorf("%d %v", status, answer)
	}
	f = fault.Of(overrideError(&fs.PathError{Op: "write", Path: "/secret/place", Err: syscall.ENOSPC}))
	if f.Kind != fault.Unavailable || f.Message != fault.FullDisk {
		t.Error(f)
	}
}

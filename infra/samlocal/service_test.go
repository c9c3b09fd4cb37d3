package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// refusals fails a test with what the service logs: what AWS would deny, and what failed.
type refusals struct{ t *testing.T }

func (r refusals) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "level=ERROR") {
		r.t.Errorf("it logs %s", text)
	}
	return len(text), nil
}

func started(t *testing.T) *service {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "") // is set anew, and restored after the test
	}
	standin.DynamoDB(t) // skips where it is missing
	standin.S3(t)
	s, err := start(t.Context(), "../../template.yaml", "http://127.0.0.1:3000", refusals{t})
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheHostedServiceOnThisMachine follows the guide to the API up to git, asks for
// paths as they come through the gateway, and runs maintenance.
func TestTheHostedServiceOnThisMachine(t *testing.T) {
	s := started(t)
	front := httptest.NewServer(s.api)
	defer front.Close()
	t.Run("the guide", func(t *testing.T) { walkThrough(t, front.URL, s.key) })
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/nothing":                       {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a/b/c":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a%2Fb":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/what%253F/document":   {404, `what?`},
		"/v1/flags/%CE%BB":               {404, "λ"},
		"/v1/flags/a%23b/history":        {404, "a#b"},
		"/v1//flags?limit=1":             {200, `"flags"`},
		"/healthz":                       {200, `"ok"`},
		"/console/":                      {200, "<script"},
		"/schemas/v1/stored-config.json": {200, "http://127.0.0.1:3000/schemas/v1/stored-config.json"},
	} {
		if status, body := send(t, "GET", front.URL+path, s.key); status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("GET %s: %d %.300s, want %d %s", path, status, body, want.status, want.text)
		}
	}
	if status, body := send(t, "DELETE", front.URL+"/v1/flags", s.key); status != 405 || !strings.Contains(body, "METHOD_NOT_ALLOWED") {
		t.Errorf("DELETE /v1/flags: %d %s", status, body)
	}
	if err := s.maintainOnce(t.Context()); err != nil {
		t.Error(err)
	}
}

func send(t *testing.T, method, url, key string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(r)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

func walkThrough(t *testing.T, url, key string) {
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
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "SVC="+url+"/v1", "KEY="+key)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`production: rollout 25% true, 75% false`, `1 targeting rule added`, `"previousCommitSha"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}

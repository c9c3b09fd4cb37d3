package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/standin"
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

// TestTheHostedServiceOnThisMachine asks for paths as they come through the gateway, and
// runs maintenance.
func TestTheHostedServiceOnThisMachine(t *testing.T) {
	s := started(t)
	send := func(method, path string) (status int, body string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("Authorization", "Bearer "+s.key)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
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
		if status, body := send("GET", path); status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("GET %s: %d %.300s, want %d %s", path, status, body, want.status, want.text)
		}
	}
	if status, body := send("DELETE", "/v1/flags"); status != 405 || !strings.Contains(body, "METHOD_NOT_ALLOWED") {
		t.Errorf("DELETE /v1/flags: %d %s", status, body)
	}
	if err := s.maintainOnce(t.Context()); err != nil {
		t.Error(err)
	}
}

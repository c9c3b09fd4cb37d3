package apigateway

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

// What an HTTP API made of these paths in 2026 (github.com/hotsock/voker,
// vokerhttp/testdata); "" is its 400.
func TestPathsArriveAsTheyDidOnAWS(t *testing.T) {
	for sent, want := range map[string]string{
		"/capture/plain":                             "/capture/plain",
		"/capture/space%20value":                     "/capture/space value",
		"/capture/question%3Fvalue":                  "/capture/question",
		"/capture/percent%25done":                    "",
		"/capture/hash%23value":                      "/capture/hash#value",
		"/capture/slash%2Fvalue":                     "/capture/slash/value",
		"/capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C": "/capture/unicode-λ-世界",
		"/capture/literal%252Fvalue":                 "/capture/literal/value",
		"/capture/literal%253Fvalue":                 "/capture/literal?value",
		"/capture/literal%2525value":                 "/capture/literal%value",
		"/proxy/https://example.com//a":              "/proxy/https:/example.com/a",
		"/proxy/https%3A%2F%2Fexample.com":           "/proxy/https:/example.com",
		"//v1/flags":                                 "/v1/flags",
		"/v1/flags/":                                 "/v1/flags/",
		"/a+b":                                       "/a+b",
	} {
		if got, err := decodePath(sent); got != want || (err != nil) != (want == "") {
			t.Errorf("%s became %q (%v), want %q", sent, got, err, want)
		}
	}
}

var sampleRoutes = []Route{
	{Key: "$default", Target: "default"},
	{Key: "ANY /v1/flags/{key}", Target: "flags"},
	{Key: "ANY /v1/flags", Target: "flags"},
	{Key: "ANY /v1/flags/{key}/document", Target: "flags"},
	{Key: "GET /v1/flags/special", Target: "special"},
	{Key: "ANY /api/{path+}", Target: "greedy"},
	{Key: "ANY /api/v1/{path+}", Target: "particular"},
}

func TestRoutes(t *testing.T) {
	routes := must.Get(NewRoutes(sampleRoutes))(t)
	for _, c := range []struct{ method, path, key, parameters string }{
		{"GET", "/v1/flags", "ANY /v1/flags", ""},
		{"GET", "/v1/flags/", "ANY /v1/flags", ""},
		{"PURGE", "/v1/flags", "ANY /v1/flags", ""},
		{"GET", "/v1/flags/a", "ANY /v1/flags/{key}", "key=a"},
		{"GET", "/v1/flags/special", "GET /v1/flags/special", ""},
		{"PUT", "/v1/flags/special", "ANY /v1/flags/{key}", "key=special"},
		{"GET", "/v1/flags/a/document", "ANY /v1/flags/{key}/document", "key=a"},
		{"GET", "/v1/flags/a/b", "$default", ""},
		{"GET", "/api/v1/telemetry/", "ANY /api/v1/{path+}", "path=telemetry"},
		{"GET", "/api/v2/a/b=", "ANY /api/{path+}", "path=v2/a/b="},
		{"GET", "/api/", "$default", ""},
		{"GET", "/", "$default", ""},
	} {
		got, parameters, ok := routes.find(c.method, c.path)
		var list []string
		for name, value := range parameters {
			list = append(list, name+"="+value)
		}
		if !ok || got.Key != c.key || strings.Join(list, "&") != c.parameters {
			t.Errorf("%s %s goes to %s with %v, want %s with %s", c.method, c.path, got.Key, list, c.key, c.parameters)
		}
	}
	if _, err := NewRoutes([]Route{{Key: "GET /a"}, {Key: "GET /a"}}); err == nil {
		t.Error("a route may stand twice")
	}
	if _, err := NewRoutes([]Route{{Key: "GET /a/"}}); err == nil {
		t.Error("a route may end in a slash: AWS makes none of it")
	}
}

func TestWhatTheGatewayRefuses(t *testing.T) {
	routes := must.Get(NewRoutes(sampleRoutes))(t)
	long := httptest.NewRequest("GET", "/v1/flags", nil)
	long.Header.Set("X-Long", strings.Repeat("a", maxHead))
	for _, c := range []struct {
		r      *http.Request
		status int
	}{
		{long, 431},
		{httptest.NewRequest("GET", "/v1/flags/50%25done", nil), 400},
		{httptest.NewRequest("POST", "/v1/flags", io.LimitReader(zeros{}, maxBody+1)), 413},
		{httptest.NewRequest("GET", "/v1/flags", nil), 500},
	} {
		front := &Front{Routes: routes, Logger: slog.New(slog.DiscardHandler), Invoke: func(context.Context, string, []byte) ([]byte, error) {
			return []byte(`{"errorMessage": "secret"}`), nil
		}}
		w := httptest.NewRecorder()
		if front.ServeHTTP(w, c.r); w.Code != c.status || !strings.HasPrefix(w.Body.String(), `{"message":`) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

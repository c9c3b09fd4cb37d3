package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
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
	routes, err := NewRoutes(sampleRoutes)
	if err != nil {
		t.Fatal(err)
	}
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

// through sends a request through a front to a function, and returns the event
// and the response.
func through(t *testing.T, r *http.Request, answer any) (event events.APIGatewayV2HTTPRequest, w *httptest.ResponseRecorder) {
	t.Helper()
	routes, err := NewRoutes(sampleRoutes)
	if err != nil {
		t.Fatal(err)
	}
	front := &Front{Routes: routes, Logger: slog.New(slog.DiscardHandler), Invoke: func(_ context.Context, _ string, text []byte) ([]byte, error) {
		if err := json.Unmarshal(text, &event); err != nil {
			t.Error(err)
		}
		if err, isError := answer.(error); isError {
			return nil, err
		}
		return json.Marshal(answer)
	}}
	w = httptest.NewRecorder()
	front.ServeHTTP(w, r)
	return event, w
}

func TestAnEvent(t *testing.T) {
	r := httptest.NewRequest("PUT", "http://localhost:3000/v1/flags/a%20b/document?x=1&x=2&empty=&plus=a+b", strings.NewReader(`{"a":1}`))
	r.Header = http.Header{"Accept": {"a", "b"}, "If-None-Match": {`"x,y"`}, "Cookie": {"a=b; c=d"}, "Content-Type": {"application/json; charset=utf-8"}, "X-Forwarded-For": {"203.0.113.1"}}
	e, _ := through(t, r, events.APIGatewayV2HTTPResponse{StatusCode: 200})
	headers := map[string]string{"accept": "a,b", "if-none-match": `"x,y"`, "content-type": "application/json; charset=utf-8", "host": "localhost:3000",
		"x-forwarded-for": "203.0.113.1, 192.0.2.1", "x-forwarded-port": "443", "x-forwarded-proto": "https", "x-amzn-trace-id": e.Headers["x-amzn-trace-id"]}
	if !maps.Equal(e.Headers, headers) {
		t.Errorf("headers %v", e.Headers)
	}
	for _, c := range []struct{ what, got, want string }{
		{"route", e.RouteKey, "ANY /v1/flags/{key}/document"},
		{"path", e.RawPath, "/v1/flags/a b/document"},
		{"parameter", e.PathParameters["key"], "a b"},
		{"query", e.RawQueryString, "x=1&x=2&empty=&plus=a+b"},
		{"parameters", e.QueryStringParameters["x"] + e.QueryStringParameters["plus"], "1,2a b"},
		{"cookies", strings.Join(e.Cookies, "|"), "a=b|c=d"},
		{"body", e.Body, `{"a":1}`},
		{"method", e.RequestContext.HTTP.Method, "PUT"},
		{"source", e.RequestContext.HTTP.SourceIP, "192.0.2.1"},
		{"stage", e.RequestContext.Stage, "$default"},
	} {
		if c.got != c.want {
			t.Errorf("%s %q, want %q", c.what, c.got, c.want)
		}
	}
}

func TestBodiesThatAreNotText(t *testing.T) {
	for kind, isText := range map[string]bool{"application/json": true, "text/plain": true, "application/x-www-form-urlencoded": false, "": false, "application/octet-stream": false} {
		r := httptest.NewRequest("POST", "/v1/flags", strings.NewReader("{}"))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		if e, _ := through(t, r, events.APIGatewayV2HTTPResponse{StatusCode: 200}); e.IsBase64Encoded == isText {
			t.Errorf("%q: base64 %v", kind, e.IsBase64Encoded)
		}
	}
}

func TestAnswers(t *testing.T) {
	_, w := through(t, httptest.NewRequest("GET", "/v1/flags", nil), events.APIGatewayV2HTTPResponse{
		StatusCode: 201, Headers: map[string]string{"Content-Encoding": "gzip"}, Cookies: []string{"a=b", "c=d"}, Body: "H4s=", IsBase64Encoded: true})
	if w.Code != 201 || w.Body.String() != "\x1f\x8b" || len(w.Header()["Set-Cookie"]) != 2 || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for name, answer := range map[string]any{"an error": errors.New("secret"), "no answer": map[string]string{"errorMessage": "secret"}} {
		_, w := through(t, httptest.NewRequest("GET", "/v1/flags", nil), answer)
		if w.Code != 500 || w.Body.String() != `{"message":"Internal Server Error"}` {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestWhatTheGatewayRefuses(t *testing.T) {
	long := httptest.NewRequest("GET", "/v1/flags", nil)
	long.Header.Set("X-Long", strings.Repeat("a", maxHead))
	for _, c := range []struct {
		r      *http.Request
		status int
	}{
		{long, 431},
		{httptest.NewRequest("GET", "/v1/flags/50%25done", nil), 400},
		{httptest.NewRequest("POST", "/v1/flags", io.LimitReader(zeros{}, maxBody+1)), 413},
	} {
		if _, w := through(t, c.r, events.APIGatewayV2HTTPResponse{StatusCode: 200}); w.Code != c.status || !strings.HasPrefix(w.Body.String(), `{"message":`) {
			t.Errorf("%d %s, want %d", w.Code, w.Body, c.status)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"
)

func eventFor(route, rawPath string, parameters map[string]string) *events.APIGatewayV2HTTPRequest {
	return &events.APIGatewayV2HTTPRequest{RouteKey: route, RawPath: rawPath, PathParameters: parameters}
}

func TestPathsAsTheyWereSent(t *testing.T) {
	type params = map[string]string
	const document = "ANY /v1/flags/{key}/document"
	const eval = "ANY /api/v2/configs/eval-with-context/{token+}"
	for _, c := range []struct {
		name, route, raw string
		parameters       params
		want             string
	}{
		{"plain", document, "/v1/flags/dark-mode/document", params{"key": "dark-mode"}, "/v1/flags/dark-mode/document"},
		{"an escaped slash", document, "/v1/flags/a/b/document", params{"key": "a/b"}, "/v1/flags/a%2Fb/document"},
		{"an escaped slash, parameter still escaped", document, "/v1/flags/a/b/document", params{"key": "a%2Fb"}, "/v1/flags/a%2Fb/document"},
		{"a path that is itself a key", document, "/v1/flags/x/document/document", params{"key": "x/document"}, "/v1/flags/x%2Fdocument/document"},
		{"a question mark", document, "/v1/flags/what?/document", params{"key": "what?"}, "/v1/flags/what%3F/document"},
		{"a percent sign", document, "/v1/flags/50%/document", params{"key": "50%"}, "/v1/flags/50%25/document"},
		{"what looks like an escape", document, "/v1/flags/a%41/document", params{"key": "a%41"}, "/v1/flags/a%2541/document"},
		{"a hash and a space", document, "/v1/flags/a #b/document", params{"key": "a #b"}, "/v1/flags/a%20%23b/document"},
		{"a plus", document, "/v1/flags/a+b/document", params{"key": "a+b"}, "/v1/flags/a+b/document"},
		{"another script", document, "/v1/flags/λ-世界/document", params{"key": "λ-世界"}, "/v1/flags/%CE%BB-%E4%B8%96%E7%95%8C/document"},
		{"two parameters", "ANY /v1/flags/{key}/environments/{env}", "/v1/flags/a/b/environments/c/d", params{"key": "a/b", "env": "c/d"}, "/v1/flags/a%2Fb/environments/c%2Fd"},
		{"a slash at the end", "ANY /v1/flags", "/v1/flags/", nil, "/v1/flags/"},
		{"a slash at the end, behind a parameter", "ANY /v1/flags/{key}", "/v1/flags/a/", params{"key": "a"}, "/v1/flags/a/"},
		{"parameters of another path", document, "/v1/flags/a/b/document", params{"key": "c"}, "/v1/flags/a/b/document"},
		{"parameters that are missing", document, "/v1/flags/a/document", nil, "/v1/flags/a/document"},
		{"no route", "$default", "/v1/flags/a b?/c", nil, "/v1/flags/a%20b%3F/c"},
		{"a token", eval, "/api/v2/configs/eval-with-context/e30=", params{"token": "e30="}, "/api/v2/configs/eval-with-context/e30="},
		{"a token with slashes", eval, "/api/v2/configs/eval-with-context/a/b+c/d==", params{"token": "a/b+c/d=="}, "/api/v2/configs/eval-with-context/a/b+c/d=="},
		{"a token whose parameter lost its end", eval, "/api/v2/configs/eval-with-context/a/b/", params{"token": "a/b"}, "/api/v2/configs/eval-with-context/a/b/"},
		{"doubled slashes that did arrive", eval, "/api/v2/configs/eval-with-context/a//b", params{"token": "a//b"}, "/api/v2/configs/eval-with-context/a//b"},
		{"no slash at the beginning", "$default", "v1", nil, "/v1"},
		{"nothing", "$default", "", nil, "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := escapedPath(eventFor(c.route, c.raw, c.parameters))
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if u := address(eventFor(c.route, c.raw, c.parameters)); u.EscapedPath() != c.want {
				t.Errorf("net/url makes %s of it, want %s", u.EscapedPath(), c.want)
			}
		})
	}
}

// The paths that an HTTP API delivered in 2026; see doc.go.
func TestCapturedPaths(t *testing.T) {
	for sent, c := range map[string]struct{ arrived, want string }{
		"/capture/plain":                                   {"/capture/plain", "/capture/plain"},
		"/capture/space%20value":                           {"/capture/space value", "/capture/space%20value"},
		"/capture/question%3Fvalue":                        {"/capture/question", "/capture/question"}, // cut off
		"/capture/hash%23value":                            {"/capture/hash#value", "/capture/hash%23value"},
		"/capture/slash%2Fvalue":                           {"/capture/slash/value", "/capture/slash/value"}, // no route tells
		"/capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C":       {"/capture/unicode-λ-世界", "/capture/unicode-%CE%BB-%E4%B8%96%E7%95%8C"},
		"/capture/literal%252Fvalue":                       {"/capture/literal/value", "/capture/literal/value"},
		"/capture/literal%253Fvalue":                       {"/capture/literal?value", "/capture/literal%3Fvalue"},
		"/capture/literal%2525value (an escape by chance)": {"/capture/literal%value", "/capture/literal%25value"},
	} {
		if got := escapedPath(eventFor("$default", c.arrived, nil)); got != c.want {
			t.Errorf("%s arrives as %s and becomes %s, want %s", sent, c.arrived, got, c.want)
		}
	}
}

// Whatever a parameter holds, the path leads back to it at its place.
func TestAParameterSurvivesTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[^\x00]+`).Filter(utf8.ValidString)
		key, env := text.Draw(t, "key"), text.Draw(t, "env")
		escaped := escapedPath(eventFor("ANY /v1/flags/{key}/environments/{env}", "/v1/flags/"+key+"/environments/"+env, map[string]string{"key": key, "env": env}))
		segments := strings.Split(escaped, "/")
		if len(segments) != 6 {
			t.Fatalf("%s has %d segments", escaped, len(segments))
		}
		for i, want := range map[int]string{3: key, 5: env} {
			if got, err := url.PathUnescape(segments[i]); err != nil || got != want {
				t.Fatalf("%q became %q (%v)", want, got, err)
			}
		}
	})
}

func TestKeepPlus(t *testing.T) {
	var got string
	h := KeepPlus("/eval/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.EscapedPath() }))
	for sent, want := range map[string]string{
		"/eval/a%20b/c=": "/eval/a+b/c=",
		"/eval/a+b":      "/eval/a+b",
		"/other/a%20b":   "/other/a%20b",
	} {
		h.ServeHTTP(nil, httptest.NewRequest("GET", sent, nil))
		if got != want {
			t.Errorf("%s became %s, want %s", sent, got, want)
		}
	}
}

func FuzzInvoke(f *testing.F) {
	f.Add("ANY /v1/flags/{key}", "/v1/flags/a/b", "a/b", "x=1&x=2", "if-none-match", `"a,b"`, "GET", "", false)
	f.Add("$default", "/%zz?\x00", "%zz", "a=%zz;\x7f", "\x00", "\r\n", "", "!", true)
	a := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := url.PathUnescape(r.URL.EscapedPath()); err != nil || !strings.HasPrefix(r.URL.EscapedPath(), "/") {
			panic("path " + r.URL.EscapedPath())
		}
		w.WriteHeader(204)
	}), silent)
	f.Fuzz(func(t *testing.T, route, path, key, query, name, value, method, body string, isBase64 bool) {
		event := events.APIGatewayV2HTTPRequest{RouteKey: route, RawPath: path, RawQueryString: query, Body: body, IsBase64Encoded: isBase64,
			PathParameters: map[string]string{"key": key}, Headers: map[string]string{name: value}, Cookies: []string{value}}
		event.RequestContext.HTTP.Method = method
		payload, err := a.Invoke(t.Context(), event)
		must(t, err)
		var answer events.APIGatewayV2HTTPResponse
		if err := json.NewDecoder(payload).Decode(&answer); err != nil || answer.StatusCode != 204 && answer.StatusCode != 400 {
			t.Fatalf("%v %+v", err, answer)
		}
	})
}

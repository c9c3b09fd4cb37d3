package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"pgregory.net/rapid"

	"svc.example/svc/shared/testing/must"
)

var silent = slog.New(slog.DiscardHandler)

func readEvent(t *testing.T) events.APIGatewayV2HTTPRequest {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/event.json"))(t)
	var event events.APIGatewayV2HTTPRequest
	must.Do(t, json.Unmarshal(text, &event))
	return event
}

// seen sends an event through an adapter and returns the request that the
// handler saw, with its body read.
func seen(t *testing.T, event events.APIGatewayV2HTTPRequest) (r *http.Request, body string) {
	t.Helper()
	a := New(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
		text, err := io.ReadAll(got.Body)
		must.Report(t, err)
		r, body = got, string(text)
	}), silent)
	if answer, _ := invoked(t, a, event); answer.StatusCode != 200 {
		t.Fatalf("status %d", answer.StatusCode)
	}
	return r, body
}

func TestARealEventArrivesWhole(t *testing.T) {
	r, body := seen(t, readEvent(t))
	want := http.Header{
		"Accept": {"*/*"}, "Accept-Encoding": {"gzip;q=1.0, identity;q=0.5, *;q=0"},
		"Content-Length": {"38"}, "Content-Type": {"application/json"},
		"If-None-Match": {`"one,with a comma", W/"two"`}, "User-Agent": {"curl/8.7.1 (one, two)"},
		"X-Amzn-Trace-Id": {"Root=1-6a5145a9-1bae89e2512ec92d5d9438a0"},
		"X-Forwarded-For": {"203.0.113.7, 198.51.100.2"}, "X-Forwarded-Port": {"443"}, "X-Forwarded-Proto": {"https"},
		"Cookie": {"session=abc123; theme=dark"},
	}
	if !maps.EqualFunc(r.Header, want, slices.Equal) {
		t.Errorf("headers\n%v, want\n%v", r.Header, want)
	}
	for _, c := range []struct{ what, got, want string }{
		{"method", r.Method, "POST"},
		{"path", r.URL.EscapedPath(), "/capture/space%20value"},
		{"query", r.URL.RawQuery, "repeat=one&repeat=two&redirect=https%3A%2F%2Fexample.com%2Fa%2Fb&literalPlus=a+b&encodedPlus=a%2Bb&empty="},
		{"repeated", strings.Join(r.URL.Query()["repeat"], "|"), "one|two"},
		{"plus", r.URL.Query().Get("encodedPlus"), "a+b"},
		{"request URI", r.RequestURI, r.URL.EscapedPath() + "?" + r.URL.RawQuery},
		{"host", r.Host, "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"},
		{"remote address", r.RemoteAddr, "198.51.100.2:0"},
		{"body", body, `{"message":"hello","unicode":"lambda-λ"}`},
	} {
		if c.got != c.want {
			t.Errorf("%s %q, want %q", c.what, c.got, c.want)
		}
	}
	if !r.URL.Query().Has("empty") {
		t.Error("the empty parameter is lost")
	}
	if session, err := r.Cookie("theme"); err != nil || session.Value != "dark" {
		t.Errorf("the cookie is lost: %v", err)
	}
}

func TestABodyInBase64IsDecoded(t *testing.T) {
	event := readEvent(t)
	event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("key=\x00\xff")), true
	if r, body := seen(t, event); body != "key=\x00\xff" || r.ContentLength != 6 {
		t.Errorf("body %q, length %d", body, r.ContentLength)
	}
}

// answered lets a handler answer the event.
func answered(t *testing.T, handler http.HandlerFunc) events.APIGatewayV2HTTPResponse {
	t.Helper()
	answer, _ := invoked(t, New(handler, silent), readEvent(t))
	return answer
}

// invoked is an adapter's answer, taken the way that aws-lambda-go sends it, and
// how many bytes that were.
func invoked(t *testing.T, a *Adapter, event events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, sent int) {
	t.Helper()
	text := must.Get(json.Marshal(event))(t)
	payload := must.Get(lambda.NewHandler(a.Invoke).Invoke(t.Context(), text))(t)
	if err := json.Unmarshal(payload, &answer); err != nil {
		t.Fatalf("%v: %.200s", err, payload)
	}
	return answer, len(payload)
}

func TestAnswers(t *testing.T) {
	gzipped := "\x1f\x8b\x08\x00\x00\x00"
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    events.APIGatewayV2HTTPResponse
	}{
		{"text", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(201)
			io.WriteString(w, `{"λ":`)
			io.WriteString(w, `1}`)
		}, events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: `{"λ":1}`, Headers: map[string]string{"Content-Type": "application/json"}}},
		{"binary", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, gzipped)
		}, events.APIGatewayV2HTTPResponse{StatusCode: 200, Body: base64.StdEncoding.EncodeToString([]byte(gzipped)), IsBase64Encoded: true,
			Headers: map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}}},
		{"304 without a body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"a"`)
			w.WriteHeader(304)
		}, events.APIGatewayV2HTTPResponse{StatusCode: 304, Headers: map[string]string{"Etag": `"a"`}}},
		{"nothing at all", func(http.ResponseWriter, *http.Request) {}, events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: map[string]string{}}},
		{"the first status counts", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(200)
		}, events.APIGatewayV2HTTPResponse{StatusCode: 404, Headers: map[string]string{}}},
		{"headers with several values", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Vary"] = []string{"Origin", "Accept-Encoding"}
			w.Header()["Set-Cookie"] = []string{"a=b, c", "d=e"}
			w.WriteHeader(204)
		}, events.APIGatewayV2HTTPResponse{StatusCode: 204, Headers: map[string]string{"Vary": "Origin,Accept-Encoding"}, Cookies: []string{"a=b, c", "d=e"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := answered(t, c.handler)
			if got.StatusCode != c.want.StatusCode || got.Body != c.want.Body || got.IsBase64Encoded != c.want.IsBase64Encoded ||
				!maps.Equal(got.Headers, c.want.Headers) || !slices.Equal(got.Cookies, c.want.Cookies) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWhateverIsInAnAnswerOfTheLargestSizeItFits(t *testing.T) {
	for name, char := range map[string]string{"plain": "a", "quotes": `"`, "control": "\x01", "separators": "\u2028", "binary": "\xff", "unicode": "λ"} {
		t.Run(name, func(t *testing.T) {
			body := strings.Repeat(char, MaxAnswer/len(char))
			a, n := invoked(t, New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }), silent), readEvent(t))
			if a.StatusCode != 200 || n > maxPayload {
				t.Errorf("status %d, %d bytes, Lambda takes %d", a.StatusCode, n, maxPayload)
			}
			got := a.Body
			if a.IsBase64Encoded {
				text := must.Get(base64.StdEncoding.DecodeString(a.Body))(t)
				got = string(text)
			}
			if got != body {
				t.Error("the body changed")
			}
		})
	}
}

func TestWhatIsTooLargeIsRefusedInOurEnvelope(t *testing.T) {
	a := answered(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Etag", `"a"`)
		io.WriteString(w, strings.Repeat("\xff", MaxAnswer+maxHeader))
	})
	if a.StatusCode != 400 || !strings.Contains(a.Body, `"error":"BAD_REQUEST"`) || !strings.Contains(a.Body, "and 6291556 are the most") || !strings.Contains(a.Body, "ask for less") || a.IsBase64Encoded {
		t.Errorf("%d %.200s", a.StatusCode, a.Body)
	}
	if a.Headers["Access-Control-Allow-Origin"] != "*" || a.Headers["Etag"] != "" {
		t.Errorf("headers %v", a.Headers)
	}
}

func TestWhatAnEventMayNotDo(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})
	panics := func(value any) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(value) })
	}
	base64Body, method, empty := readEvent(t), readEvent(t), events.APIGatewayV2HTTPRequest{}
	base64Body.IsBase64Encoded, base64Body.Body = true, "no base64!"
	method.RequestContext.HTTP.Method = "GE T"
	for _, c := range []struct {
		name    string
		handler http.Handler
		event   events.APIGatewayV2HTTPRequest
		status  int
	}{
		{"broken base64", ok, base64Body, 400},
		{"a method that is none", ok, method, 400},
		{"an event of another kind", ok, empty, 400},
		{"a panic", panics("the secret hunter2"), readEvent(t), 500},
		{"a panic of the runtime", panics(errors.New("hunter2")), readEvent(t), 500},
		{"an aborted handler", panics(http.ErrAbortHandler), readEvent(t), 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			a, _ := invoked(t, New(c.handler, slog.New(slog.NewJSONHandler(&log, nil))), c.event)
			if a.StatusCode != c.status {
				t.Fatalf("status %d, want %d", a.StatusCode, c.status)
			}
			var envelope struct{ Error, Message string }
			if err := json.Unmarshal([]byte(a.Body), &envelope); err != nil || envelope.Error == "" || envelope.Message == "" {
				t.Errorf("no envelope: %s", a.Body)
			}
			c.event.RawPath = "/ofrep/v1/evaluate/flags/a"
			ofrep, _ := invoked(t, New(c.handler, slog.New(slog.DiscardHandler)), c.event)
			if ofrep.StatusCode != c.status || !strings.HasPrefix(ofrep.Body, `{"errorCode":"GENERAL","errorDetails":"`) {
				t.Errorf("of OFREP: %d %s", ofrep.StatusCode, ofrep.Body)
			}
			if strings.Contains(log.String(), "hunter2") || strings.Contains(a.Body, "hunter2") {
				t.Errorf("what was panicked with is told: %s %s", log.String(), a.Body)
			}
			if c.status == 500 && !strings.Contains(a.Body, c.event.RequestContext.RequestID) {
				t.Errorf("no request id: %s", a.Body)
			}
		})
	}
}

func TestTheHandlerEndsBeforeTheProcessDoes(t *testing.T) {
	for _, left := range []time.Duration{time.Hour, 1500 * time.Millisecond} {
		deadline := time.Now().Add(left)
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		defer cancel()
		var got time.Time
		New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = r.Context().Deadline() }), silent).Invoke(ctx, readEvent(t))
		if kept := deadline.Sub(got); kept <= 0 || kept > margin || kept > left/2 {
			t.Errorf("with %v left, %v are kept", left, kept)
		}
	}
}

// TestProxiesInFront: the client's address is the one that they tell, and who comes
// past them is not answered.
func TestProxiesInFront(t *testing.T) {
	for name, c := range map[string]struct {
		proxies, peer, forwarded string
		want                     string // "" for none
		status                   int
	}{
		"none are named":                     {"", "198.51.100.7", "203.0.113.1, 198.51.100.7", "198.51.100.7:0", 200},
		"through one":                        {"192.0.2.0/24", "192.0.2.9", "203.0.113.1, 192.0.2.9", "203.0.113.1:0", 200},
		"through two":                        {"192.0.2.0/24,198.51.100.0/24", "192.0.2.9", "203.0.113.1, 198.51.100.3, 192.0.2.9", "203.0.113.1:0", 200},
		"an address that the client made up": {"192.0.2.0/24", "192.0.2.9", "10.9.9.9, 203.0.113.1, 192.0.2.9", "203.0.113.1:0", 200},
		"IPv6":                               {"2001:db8::/32", "2001:db8::9", "2a00:1:2:3:4:5:6:7, 2001:db8::9", "[2a00:1:2:3::]:0", 200},
		"past them":                          {"192.0.2.0/24", "203.0.113.1", "192.0.2.9, 203.0.113.1", "", 403},
		"a list that is none":                {"192.0.2.0/99", "192.0.2.9", "", "", 503},
	} {
		event, got := readEvent(t), ""
		event.StageVariables = map[string]string{"trustedProxies": c.proxies}
		event.RequestContext.HTTP.SourceIP, event.Headers["x-forwarded-for"] = c.peer, c.forwarded
		a := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }), silent)
		if answer, _ := invoked(t, a, event); answer.StatusCode != c.status || got != c.want {
			t.Errorf("%s: %d, from %q; want %d, %q", name, answer.StatusCode, got, c.status, c.want)
		}
	}
}

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
		payload := must.Get(a.Invoke(t.Context(), event))(t)
		var answer events.APIGatewayV2HTTPResponse
		if err := json.NewDecoder(payload).Decode(&answer); err != nil || answer.StatusCode != 204 && answer.StatusCode != 400 {
			t.Fatalf("%v %+v", err, answer)
		}
	})
}

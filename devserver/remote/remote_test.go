package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var ctx = context.Background()

// api is a server that answers with one handler, and a client that waits for
// nothing but notes how long it would have.
func api(t *testing.T, answer http.HandlerFunc) (*Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(server.URL+"/v1/", "secret-key")
	if err != nil {
		t.Fatal(err)
	}
	var waited []time.Duration
	c.wait = func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	}
	return c, &waited
}

func TestGet(t *testing.T) {
	c, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"uri":%q,"key":%q}`, r.RequestURI, r.Header.Get("Authorization"))
	})
	var got struct{ URI, Key string }
	if err := c.Read(ctx, "/flags/a%2Fb", map[string][]string{"at": {"x y"}}, &got); err != nil {
		t.Fatal(err)
	}
	if got.URI != "/v1/flags/a%2Fb?at=x+y" || got.Key != "Bearer secret-key" {
		t.Errorf("%+v", got)
	}
}

func TestWhatMayPassIsWaitedFor(t *testing.T) {
	n := 0
	c, waited := api(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n++; n {
		case 1:
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(429)
		case 2:
			w.WriteHeader(503)
		case 3:
			w.Header().Set("Retry-After", "99999999")
			w.WriteHeader(429)
		default:
			fmt.Fprint(w, `{}`)
		}
	})
	if _, err := c.Get(ctx, "/flags", nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(*waited); got != "[3s 1s 2m0s]" {
		t.Errorf("waited %s", got)
	}
}

func TestWhatDoesNotPassIsTold(t *testing.T) {
	for _, test := range []struct {
		code int
		body string
		says string
	}{
		{404, `{"error":"NOT_FOUND","message":"there is no flag \"x\""}`, `GET /flags answers 404: there is no flag "x"`},
		{401, `{"error":"UNAUTHORIZED","message":"the key is not accepted"}`, "401: the key is not accepted"},
		{503, `{"error":"SERVICE_UNAVAILABLE","message":"the workspace is being set up"}`, "503: the workspace is being set up"},
		{429, `{"error":"RATE_LIMITED","message":"too many requests"}`, "429: too many requests"},
		{404, `<html>`, "404: this is no answer of the API; check the address"},
		{302, ``, "the address redirects, which is not followed with a key"},
	} {
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(test.code)
			fmt.Fprint(w, test.body)
		})
		_, err := c.Get(ctx, "/flags", nil)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%d: %v", test.code, err)
		}
		if NotFound(err) != (test.code == 404) {
			t.Errorf("%d: NotFound is %v", test.code, NotFound(err))
		}
		if other.Close(); elsewhere > 0 {
			t.Error("the key went elsewhere")
		}
	}
	c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if err := c.Read(ctx, "/flags", nil, new(struct{})); err == nil || !strings.Contains(err.Error(), "check the address") {
		t.Error(err)
	}
	c, err := New("http://127.0.0.1:1/v1", "secret-key")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(ctx, "/flags", nil); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}

func TestAnAnswerWithoutTheListIsNoEmptyList(t *testing.T) {
	for answer, says := range map[string]string{
		`{"rows":[]}`: "", `{"total":1,"rows":[{"key":"a"}]}`: "", `{"rows": []}`: "",
		`{}`: `it lacks the list "rows"`, `null`: `it lacks the list "rows"`, `{"rows":null}`: `it lacks the list "rows"`, `{"ROWS":[]}`: `it lacks the list "rows"`,
		`{"rows":{}}`: `it lacks the list "rows"`, `[]`: "it is not a JSON object", ``: "it is not a JSON object", `{"rows":[]}<html>`: "it is not a JSON object",
		`{"rows":[1]}`: "something else than was asked for", `{"rows":[],"nextCursor":"x"}`: "only a part of the list",
	} {
		c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		var rows []struct{ Key string }
		err := c.List(ctx, "/rows", nil, "rows", &rows)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), "GET /rows: this is no answer of the API (") || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for base, says := range map[string]string{
		"flags.example/v1": "not the address of an API", "ftp://x/v1": "not the address", "http:///v1": "not the address",
		"http://user:pass@x/v1": "not the address", "https://x": "did you mean https://x/v1?", "https://x/v1?a=b": "not the address", "": "not the address",
	} {
		if _, err := New(base, "k"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", base, err)
		}
	}
	for base, exposed := range map[string]bool{
		"http://127.0.0.1:6581/v1": false, "http://[::1]/v1": false, "http://localhost/v1": false, "https://x.example/v1": false,
		"http://x.example/v1": true, "http://10.0.0.1/v1": true,
	} {
		c, err := New(base, "k")
		if err != nil || c.Exposed() != exposed {
			t.Errorf("%s: %v %v", base, c.Exposed(), err)
		}
	}
}

package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

var ctx = context.Background()

// api is a server that answers with one handler, and a client that waits for
// nothing but notes how long it would have.
func api(t *testing.T, answer http.HandlerFunc) (*Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c := must.Get(New(server.URL+"/v1/", "secret-key"))(t)
	var waited []time.Duration
	c.wait = func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	}
	return c, &waited
}

// TestManifest asks beside /v1, where refusals are worded in another way.
func TestManifest(t *testing.T) {
	answer := `{"flags":[{"key":"a","type":"boolean","defaultValue":true}]}`
	c, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/openfeature/v0/manifest" {
			t.Errorf("asked for %s", r.RequestURI)
		}
		if strings.Contains(answer, "error") {
			w.WriteHeader(403)
		}
		w.Header().Set("X-Manifest-Omitted", "2")
		fmt.Fprint(w, answer)
	})
	flags, omitted, err := c.Manifest(ctx)
	if err != nil || len(flags) != 1 || flags[0].Key != "a" || string(flags[0].DefaultValue) != "true" || omitted != 2 {
		t.Errorf("%v %d %v", flags, omitted, err)
	}
	answer = `{"error":{"message":"no","status":403}}`
	if _, _, err := c.Manifest(ctx); err == nil || err.Error() != "GET /openfeature/v0/manifest answers 403: no" {
		t.Error(err)
	}
	answer = `{}`
	if _, _, err := c.Manifest(ctx); err == nil || !strings.Contains(err.Error(), `lacks the list "flags"`) {
		t.Error(err)
	}
}

// TestWaitingHasAnEnd: whatever a server asks for, each wait and all of them
// together are bounded, the user hears of them, and the end says why.
func TestWaitingHasAnEnd(t *testing.T) {
	now := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct{ after, first string }{
		{"", "1s"}, {"0", "1s"}, {"1", "1s"}, {"-5", "1s"}, {"soon", "1s"}, {"20", "20s"}, {"300", "1m0s"}, {"999999999999", "1m0s"}, {"99999999999999999999999", "1m0s"},
		{now.Add(9 * time.Second).Format(http.TimeFormat), "9s"}, {now.Add(98 * 365 * 24 * time.Hour).Format(http.TimeFormat), "1m0s"}, {now.Add(-time.Hour).Format(http.TimeFormat), "1s"},
	} {
		for _, code := range []int{429, 503} {
			c, waited := api(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", test.after)
				w.Header().Set("Date", now.Format(http.TimeFormat))
				w.WriteHeader(code)
				fmt.Fprint(w, `{"error":"RATE"}`)
			})
			var told []string
			c.Waiting = func(line string) { told = append(told, line) }
			_, err := c.get(ctx, "/flags", nil, maxAnswer)
			if err == nil || code == 429 && err.Error() != "GET /flags answers 429: too many requests" {
				t.Errorf("%d %q: %v", code, test.after, err)
			}
			var total time.Duration
			silent := 0
			for _, d := range *waited {
				if total += d; d < 2*time.Second {
					silent++
				}
				if d > time.Minute {
					t.Errorf("%d %q: one wait of %s", code, test.after, d)
				}
			}
			if len(*waited) == 0 || len(*waited) > 16 || total > 5*time.Minute || (*waited)[0].String() != test.first {
				t.Errorf("%d %q: waited %v", code, test.after, *waited)
			}
			if len(told) == 0 || len(told) != len(*waited)-silent {
				t.Errorf("%d %q: told %q of %v", code, test.after, told, *waited)
			}
			if test.after == "20" && told[0] != "waiting 20 s, the server asks for it" {
				t.Errorf("told %q", told)
			}
			if test.after == "" && told[0] != fmt.Sprintf("waiting 2 s, the server answers %d", code) {
				t.Errorf("told %q", told)
			}
		}
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
		{429, `<html>`, "429: too many requests"},
		{404, `<html>`, "404: this is not an answer of the API; check the address"},
		{302, ``, "the address redirects, which is not followed with a key"},
	} {
		elsewhere := 0
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(test.code)
			fmt.Fprint(w, test.body)
		})
		_, err := c.get(ctx, "/flags", nil, maxAnswer)
		if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%d: %v", test.code, err)
		}
		if other.Close(); elsewhere > 0 {
			t.Error("the key went elsewhere")
		}
	}
	c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if err := c.Read(ctx, "/flags", nil, new(struct{})); err == nil || !strings.Contains(err.Error(), "check the address") {
		t.Error(err)
	}
	c = must.Get(New("http://127.0.0.1:1/v1", "secret-key"))(t)
	if _, err := c.get(ctx, "/flags", nil, maxAnswer); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}

// TestAnAnswerThatIsCutOff names what was asked, and whom.
func TestAnAnswerThatIsCutOff(t *testing.T) {
	for name, head := range map[string]string{
		"in its body":         "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"flags\":[",
		"between two chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n",
		"before it has begun": "",
	} {
		c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, head)
			conn.Close()
		})
		err := c.Read(ctx, "/flags", map[string][]string{"tag": {"a"}}, new(struct{}))
		if want := "GET " + c.base.String() + "/flags?tag=a: the answer was cut off"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
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
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), "GET /rows: this is not an answer of the API (") || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// TestAnswersAreBounded: what is too large is not read to its end.
func TestAnswersAreBounded(t *testing.T) {
	for what, test := range map[string]struct {
		most int
		ask  func(*Client) error
	}{
		"a small answer": {1 << 20, func(c *Client) error { return c.Read(ctx, "/x", nil, new(any)) }},
		"a page":         {8 << 20, func(c *Client) error { _, _, err := c.Export(ctx, "", ""); return err }},
		"a list":         {64 << 20, func(c *Client) error { return c.List(ctx, "/x", nil, "rows", new([]any)) }},
		"a refusal":      {1 << 20, nil},
	} {
		for _, more := range []int{0, 1} {
			c, _ := api(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.ask == nil {
					w.WriteHeader(http.StatusNotFound)
				}
				fmt.Fprint(w, `{"rows":[]}`)
				blank := []byte(strings.Repeat(" ", 1<<16))
				for left := test.most + more - len(`{"rows":[]}`); left > 0; left -= len(blank) {
					if _, err := w.Write(blank[:min(left, len(blank))]); err != nil {
						return
					}
				}
			})
			ask := test.ask
			if ask == nil {
				ask = func(c *Client) error { return c.List(ctx, "/x", nil, "rows", new([]any)) }
			}
			err := ask(c)
			if tooLarge := err != nil && strings.Contains(err.Error(), fmt.Sprintf(": the answer is larger than %d bytes", test.most)); tooLarge != (more > 0) {
				t.Errorf("%s with %d more: %v", what, more, err)
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	for base, says := range map[string]string{
		"flags.example/v1": "not the address of an API", "ftp://x/v1": "not the address", "http:///v1": "not the address",
		"http://user:pass@x/v1": "not the address", "https://x": "did you mean https://x/v1?", "https://x/v1?a=b": "not the address", "": "not the address",
	} {
		if _, err := New(base, "k"); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "pass") {
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

func TestNoKeyIsRepeated(t *testing.T) {
	const key = "svc_uk_0123456789abcdefgh_0123456789abcdefGHIJ"
	err := refusal(&http.Response{StatusCode: 401}, "GET /flags", []byte(`{"message": "the key `+key+`, and svc_sk_x are not known"}`))
	if want := "GET /flags answers 401: the key svc_uk_[redacted], and svc_sk_[redacted] are not known"; err.Error() != want {
		t.Errorf("%s, want %s", err, want)
	}
}

// TestAnAnswerThatIsLost: a change set is sent again under its key where the second
// does no harm; where the outcome is not known, the error says so.
func TestAnAnswerThatIsLost(t *testing.T) {
	const lost, done, nonsense = 0, 200, 1
	for name, tt := range map[string]struct {
		answers         []int
		once, dry       bool
		unknown, failed bool
	}{
		"answered":              {answers: []int{done}},
		"lost once":             {answers: []int{lost, done}},
		"always lost":           {answers: []int{lost, lost, lost}, unknown: true, failed: true},
		"refused":               {answers: []int{409}, failed: true},
		"lost, and refused":     {answers: []int{lost, 409}, unknown: true, failed: true},
		"a server's fault":      {answers: []int{500, done}},
		"a gateway's":           {answers: []int{502, lost, 504}, unknown: true, failed: true},
		"busy":                  {answers: []int{429, 503, done}},
		"not to be sent again":  {answers: []int{lost}, once: true, unknown: true, failed: true},
		"busy before that":      {answers: []int{429, 503}, once: true, unknown: true, failed: true},
		"no answer":             {answers: []int{nonsense}, unknown: true, failed: true},
		"a dry run":             {answers: []int{lost}, dry: true, failed: true},
		"a dry run's bad luck":  {answers: []int{503, 500}, dry: true, failed: true},
		"a dry run of a server": {answers: []int{503, done}, dry: true},
	} {
		var lock sync.Mutex // a connection that is cut off orders nothing
		times, keys := 0, map[string]bool{}
		c, _ := api(t, func(w http.ResponseWriter, r *http.Request) {
			lock.Lock()
			defer lock.Unlock()
			keys[r.Header.Get("Idempotency-Key")] = true
			if times++; times > len(tt.answers) {
				t.Errorf("%s: sent %d times", name, times)
				return
			}
			switch status := tt.answers[times-1]; status {
			case lost:
				connection, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					_ = connection.Close()
				}
			case done:
				fmt.Fprint(w, `{"commitSha":"1","results":[]}`)
			case nonsense:
				fmt.Fprint(w, `{}`)
			default:
				w.WriteHeader(status)
				fmt.Fprint(w, `{"message":"no"}`)
			}
		})
		_, err := c.Change(ctx, ChangeSet{Body: []byte(`{}`), DryRun: tt.dry, Repeatable: !tt.once})
		lock.Lock()
		if unknown := errors.As(err, new(*Unknown)); unknown != tt.unknown || (err != nil) != tt.failed || times != len(tt.answers) || len(keys) != 1 || keys[""] != tt.dry {
			t.Errorf("%s: sent %d times under %v: %v", name, times, keys, err)
		}
		lock.Unlock()
	}
	c := must.Get(New("http://127.0.0.1:1/v1", "key"))(t)
	if _, err := c.Change(ctx, ChangeSet{Repeatable: true}); err == nil || errors.As(err, new(*Unknown)) {
		t.Errorf("where nobody listens: %v", err)
	}
}

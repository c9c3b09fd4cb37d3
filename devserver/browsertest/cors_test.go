package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

func TestPageOfAnotherOriginReadsFlags(t *testing.T) {
	t.Parallel()
	site := blankSite(t)
	port := serve(t, copySample(t, nil), "--host", "localhost")
	for _, page := range []string{"127.0.0.1", "localhost"} {
		tab := openTab(t, site.origin(page))
		for _, api := range []string{"127.0.0.1", "localhost", "[::1]"} {
			t.Run("from "+page+" to "+api, func(t *testing.T) {
				url := pollPath("http://"+api+":"+port, tokenOf(someone))
				simple := tab.fetch(t, url, fetchInit{})
				if got := simple.values(t)["new-checkout"]; got != true {
					t.Errorf("new-checkout is %v, not true", got)
				}
				if simple.Headers["etag"] == "" {
					t.Errorf("the page reads no ETag: %v", simple.Headers)
				}
				placeholder := tab.fetch(t, url, fetchInit{Headers: basic("placeholder")})
				if got := placeholder.values(t)["new-checkout"]; got != true {
					t.Errorf("with a key that nobody asked for, new-checkout is %v, not true", got)
				}
				tab.log.waitForPreflight(t, url)
			})
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	site := blankSite(t)
	base := "http://127.0.0.1:" + serve(t, copySample(t, nil), "--frontend-sdk-key", "dev-key",
		"--cors-origin", "https://app.example", "--cors-origin", site.origin("127.0.0.1"))
	url := pollPath(base, tokenOf(someone))

	allowed := openTab(t, site.origin("127.0.0.1"))
	allowed.fetch(t, url, fetchInit{Headers: basic("dev-key")}).values(t)
	allowed.log.waitForPreflight(t, url)
	allowed.fetch(t, url, fetchInit{}).wantError(t, 401, "UNAUTHORIZED")

	refused := openTab(t, site.origin("localhost"))
	for name, headers := range map[string]map[string]string{"preflighted": basic("dev-key"), "simple": nil} {
		t.Run("refused, "+name, func(t *testing.T) {
			if a := refused.fetch(t, url, fetchInit{Headers: headers}); a.Failure != "TypeError" {
				t.Errorf("the page reads %+v, and should read nothing", a)
			}
		})
	}
	// It is the browser that refuses: the server answers as it always does.
	refused.log.waitForPreflight(t, url)
	x := refused.log.wait(t, "an answer that the page may not read", url, func(x exchange) bool { return x.Method == "GET" })
	if _, there := x.Received["access-control-allow-origin"]; there || x.Status != 401 {
		t.Errorf("the refused origin was answered %v %v", x, x.Received)
	}
}

// A page that knows nothing of ETags is served from the browser's own cache,
// but never without asking.
func TestBrowserRevalidatesByItself(t *testing.T) {
	t.Parallel()
	dir := copySample(t, nil)
	base := "http://127.0.0.1:" + serve(t, dir)
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	url := pollPath(base, tokenOf(someone))

	tab.fetch(t, url, fetchInit{}).values(t)
	if got := tab.fetch(t, url, fetchInit{}).values(t)["new-checkout"]; got != true {
		t.Errorf("new-checkout is %v, not true", got)
	}
	tab.log.wait(t, "a 304 on the wire", url, func(x exchange) bool { return x.Status == 304 })

	switchOff(t, dir)
	eventually(t, "an edit is served", func() (any, bool) {
		got := tab.fetch(t, url, fetchInit{}).values(t)["new-checkout"]
		return got, got == false
	})
}

// fetchInit is the second argument of fetch.
type fetchInit struct {
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// answer is what a page could read of an answer, or the name of the error that
// fetch rejected with.
type answer struct {
	Failure    string            `json:"failure"`
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	Redirected bool              `json:"redirected"`
}

const fetchFunction = `async (url, init) => {
	try {
		const answer = await fetch(url, init);
		return {
			status: answer.status,
			headers: Object.fromEntries(answer.headers),
			body: await answer.text(),
			redirected: answer.redirected,
		};
	} catch (error) {
		return { failure: error.name };
	}
}`

func (tab tab) fetch(t *testing.T, url string, init fetchInit) answer {
	t.Helper()
	return call[answer](t, tab, fetchFunction, url, init)
}

// envelope is the body of an error.
type envelope struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// wantError checks that the page could read an error, words and all.
func (a answer) wantError(t *testing.T, status int, code string) {
	t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != status || e.Error != code || e.Message == "" {
		t.Errorf("the page reads %+v, not an envelope of %d %s", a, status, code)
	}
}

// evaluations is the answer to a poll.
type evaluations struct {
	Evaluations map[string]struct {
		Value struct {
			Type  string `json:"type"`
			Value any    `json:"value"`
		} `json:"value"`
		Reason string `json:"reason"`
	} `json:"evaluations"`
	Meta struct{ Version, Environment string } `json:"meta"`
}

// values checks that the answer is a success and returns the value of each
// key.
func (a answer) values(t *testing.T) map[string]any {
	t.Helper()
	var e evaluations
	if err := json.Unmarshal([]byte(a.Body), &e); err != nil || a.Status != 200 || len(e.Evaluations) == 0 {
		t.Fatalf("the page reads %+v, not evaluations", a)
	}
	values := map[string]any{}
	for key, one := range e.Evaluations {
		values[key] = one.Value.Value
	}
	return values
}

// pollPath is where a server at a base URL evaluates for a token.
func pollPath(base, token string) string {
	return base + "/api/v2/configs/eval-with-context/" + token
}

// tokenOf encodes a context as the documented client does, in the alphabet
// that a path holds as it is.
func tokenOf(context string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(context))
}

const someone = `{"user":{"key":"user-1","plan":"pro"}}`

// basic is the Authorization header that carries a key.
func basic(key string) map[string]string {
	return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+key))}
}

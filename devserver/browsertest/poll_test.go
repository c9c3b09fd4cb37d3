package browsertest

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestConditionalPoll(t *testing.T) {
	dir := sampleDir(t)
	base := "http://127.0.0.1:" + serve(t, dir, "--frontend-sdk-key", "dev-key")
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	poll := func(context, etag string) answer {
		headers := basic("dev-key")
		if etag != "" {
			headers["If-None-Match"] = etag
		}
		return tab.fetch(t, pollPath(base, tokenOf(context)), fetchInit{Headers: headers})
	}

	first := poll(someone, "")
	etag := first.Headers["etag"]
	if got := first.values(t)["new-checkout"]; got != true || etag == "" {
		t.Fatalf("new-checkout is %v with the ETag %q", got, etag)
	}
	same := poll(someone, etag)
	if same.Status != 304 || same.Body != "" || same.Headers["etag"] != etag {
		t.Errorf("the same poll again reads %+v, not a 304 with the ETag %s", same, etag)
	}
	poll(`{"user":{"key":"user-2","plan":"pro"}}`, etag).values(t) // another context is never a 304

	switchOff(t, dir)
	var later answer
	eventually(t, "an edit is served", func() (any, bool) {
		later = poll(someone, etag)
		return later.Status, later.Status == 200
	})
	if got := later.values(t)["new-checkout"]; got != false {
		t.Errorf("after the edit new-checkout is %v, not false", got)
	}
}

// A page that knows nothing of ETags is served from the browser's own cache,
// but never without asking.
func TestBrowserRevalidatesByItself(t *testing.T) {
	dir := sampleDir(t)
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

func TestTokens(t *testing.T) {
	base := "http://127.0.0.1:" + serve(t, sampleDir(t))
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	for _, c := range []struct {
		name, token string
		headline    string // what pricing.headline is in that context, or
		status      int    // what it is refused with
		code        string
	}{
		{"of 64 KiB", longToken(t, 64<<10), "Talk to us", 0, ""},
		{"of 64 KiB and a bit", longToken(t, 64<<10+4), "", 414, "URI_TOO_LONG"},
		{"with slashes and plus signs as they are", slashes(t), "Talk to us", 0, ""},
		{"with doubled slashes", strings.Replace(slashes(t), "/", "//", 1), "", 400, "BAD_REQUEST"},
		{"with a slash before it", "/" + tokenOf(enterprise), "", 400, "BAD_REQUEST"},
		{"with dots for a path", "../" + tokenOf(enterprise), "", 404, "NOT_FOUND"},
		{"percent-encoded", strings.NewReplacer("/", "%2F", "+", "%2B").Replace(slashes(t)), "Talk to us", 0, ""},
		{"not base64", "{}", "", 400, "BAD_REQUEST"},
		{"missing", "", "", 400, "BAD_REQUEST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := tab.fetch(t, pollPath(base, c.token), fetchInit{})
			if a.Redirected {
				t.Error("the poll was redirected")
			}
			if c.status != 0 {
				a.wantError(t, c.status, c.code)
				return
			}
			if got := a.values(t)["pricing.headline"]; got != c.headline {
				t.Errorf("pricing.headline is %v, not %q", got, c.headline)
			}
		})
	}
}

const enterprise = `{"user":{"key":"user-1","plan":"enterprise"}}`

// longToken is a valid token of that many bytes.
func longToken(t *testing.T, length int) string {
	t.Helper()
	head, tail := `{"user":{"plan":"enterprise","notes":"`, `"}}`
	filler := strings.Repeat("x", length/4*3-len(head)-len(tail))
	token := tokenOf(head + filler + tail)
	if len(token) != length {
		t.Fatalf("the token is %d bytes long, not %d", len(token), length)
	}
	return token
}

// slashes is a token of the standard alphabet, unescaped, with slashes and
// plus signs in it. (Two slashes in a row are never the base64 of UTF-8.)
func slashes(t *testing.T) string {
	t.Helper()
	token := base64.StdEncoding.EncodeToString([]byte(`{"user":{"plan":"enterprise","a":"o?o?o?","b":">>>~~~"}}`))
	if !strings.Contains(token, "/") || !strings.Contains(token, "+") {
		t.Fatalf("%s has no slash or no plus sign", token)
	}
	return token
}

package service

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"svc.example/svc/shared/negotiation"
)

// console asks for the console as a browser does, and as somebody who tries things.
func (l *local) console(t *testing.T) {
	gzip := http.Header{"Accept-Encoding": {"gzip, deflate, br, zstd"}}
	for _, path := range []string{"/", "/console"} {
		if r, body := l.do(t, "GET", path, "", http.Header{}); r.StatusCode != 302 || r.Header.Get("Location") != "console/" || body != "" {
			t.Errorf("%s: %d to %q", path, r.StatusCode, r.Header.Get("Location"))
		}
	}
	r, page := l.do(t, "GET", "/console/", "", gzip)
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || r.Header.Get("Cache-Control") != "no-cache" || strings.Contains(page, "svc-token") {
		t.Fatalf("the page: %d %v\n%s", r.StatusCode, r.Header, page)
	}
	if again, _ := l.do(t, "GET", "/console/", "", http.Header{"If-None-Match": {r.Header.Get("ETag")}}); again.StatusCode != 304 {
		t.Errorf("the page, again: %d", again.StatusCode)
	}
	sent := len(page)
	for _, found := range regexp.MustCompile(`(?:src|href)="([0-9a-f]{16}/[^"]+)"`).FindAllStringSubmatch(page, -1) {
		path := "/console/" + found[1]
		r, body := l.do(t, "GET", path, "", gzip)
		sent += len(body)
		tag := r.Header.Get("ETag")
		if r.StatusCode != 200 || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") || !strings.Contains(r.Header.Get("Content-Security-Policy"), "script-src 'self'") || tag == "" {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
		plain, text := l.do(t, "GET", path, "", http.Header{"Accept-Encoding": {"gzip;q=0"}, "Range": {"bytes=0-9"}})
		if packed := r.Header.Get("Content-Encoding") == "gzip"; packed {
			unpacked, err := negotiation.Decompress([]byte(body))
			if err != nil || string(unpacked) != text || plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("ETag") == tag {
				t.Errorf("%s: %d bytes plain, %d unpacked, %v, %v", path, len(text), len(unpacked), err, plain.Header)
			}
		} else if strings.HasSuffix(path, ".js") {
			t.Errorf("%s is sent as %d bytes, not compressed", path, len(body))
		}
		if again, body := l.do(t, "GET", path, "", http.Header{"Accept-Encoding": gzip["Accept-Encoding"], "If-None-Match": {tag}}); again.StatusCode != 304 || body != "" {
			t.Errorf("%s, again: %d", path, again.StatusCode)
		}
		if head, body := l.do(t, "HEAD", path, "", gzip); head.StatusCode != 200 || body != "" || head.Header.Get("ETag") != tag {
			t.Errorf("HEAD %s: %d %v", path, head.StatusCode, head.Header)
		}
		if post, _ := l.do(t, "POST", path, "", http.Header{}); post.StatusCode != 405 || post.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, post.StatusCode)
		}
	}
	if sent > 95_000 {
		t.Errorf("a browser that has nothing yet is sent %d bytes", sent)
	}
	for _, path := range []string{"/console/nothing", "/console/..%2f..%2fetc%2fpasswd", "/console/%2e%2e/%2e%2e/bootstrap", "/console/0000000000000000/console.js", "/console/a/b/c", "/consoles"} {
		if r, body := l.do(t, "GET", path, "", http.Header{}); r.StatusCode != 404 || len(body) > 300 {
			t.Errorf("%s: %d %.300s", path, r.StatusCode, body)
		}
	}
}

package delivery

import (
	"net/http/httptest"
	"testing"
)

// TestWhichStreamsShareABrowser: those of pages from this machine, and no others, which
// may be many people's behind a proxy.
func TestWhichStreamsShareABrowser(t *testing.T) {
	for _, tt := range []struct {
		name, peer, origin, referer, mode string
		browser, local                    bool
	}{
		{"a page of this machine", "127.0.0.1:1", "http://localhost:3000", "http://localhost:3000/", "cors", true, true},
		{"one by its IPv6 address", "[::1]:1", "http://[::1]:3000", "", "cors", true, true},
		{"one with a name of its own", "127.0.0.1:1", "http://shop.localhost:3000", "", "cors", true, true},
		{"one of the same origin", "127.0.0.1:1", "", "http://127.0.0.1:6581/page", "cors", true, true},
		{"a page of a site, by a proxy here", "127.0.0.1:1", "https://www.acme.example", "https://www.acme.example/", "cors", true, false},
		{"one of the same origin, by a proxy here", "127.0.0.1:1", "", "https://flags.acme.example/", "cors", true, false},
		{"one that tells nothing of itself", "127.0.0.1:1", "", "", "cors", true, false},
		{"one without an origin", "127.0.0.1:1", "null", "", "cors", true, false},
		{"a name that only looks like this machine's", "127.0.0.1:1", "https://localhost.acme.example", "", "cors", true, false},
		{"a page of another machine", "192.0.2.1:1", "http://localhost:3000", "", "cors", true, false},
		{"no browser", "127.0.0.1:1", "http://localhost:3000", "", "", false, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		for name, value := range map[string]string{"Origin": tt.origin, "Referer": tt.referer, "Sec-Fetch-Mode": tt.mode} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := Browser(r) != ""; got != tt.browser {
			t.Errorf("%s: a browser: %t", tt.name, got)
		}
		if got := LocalBrowser(r) != ""; got != tt.local {
			t.Errorf("%s: one of this machine: %t", tt.name, got)
		}
	}
}

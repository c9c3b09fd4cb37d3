package delivery

import (
	"net/http"
	"testing"
	"time"

	"svc.example/svc/shared/fault"
)

func TestCORS(t *testing.T) {
	const page = "http://localhost:3000"
	table := newTable(nil, "development", "v0")
	handler := func(origins ...string) http.Handler {
		return CORS(origins, (&Handler{Tables: func(_ http.ResponseWriter, _ *http.Request, key string) (*Table, error) {
			if key != testKey {
				return nil, fault.New(fault.Unauthorized, "no key")
			}
			return table, nil
		}, Now: time.Now}).Mux())
	}
	path := evalPrefix + token(`{}`)
	ask := []string{"Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization,x-requested-with, bad header", "Access-Control-Request-Private-Network", "true"}
	for _, tt := range []struct {
		name    string
		origins []string
		origin  string
		allow   string
		vary    bool
	}{
		{"any", []string{"*"}, page, "*", false},
		{"any, no origin", []string{"*"}, "", "*", false},
		{"listed", []string{"http://a.test", page}, page, page, true},
		{"listed in another case", []string{"http://LOCALHOST:3000"}, page, page, true},
		{"not listed", []string{"http://a.test"}, page, "", true},
		{"another port", []string{"http://localhost:3001"}, page, "", true},
		{"prefix", []string{"http://localhost"}, page, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := handler(tt.origins...)
			header := []string{"Origin", tt.origin}
			if tt.origin == "" {
				header = nil
			}
			pre := do(h, "OPTIONS", path, "", append(header, ask...)...)
			refused := do(h, "GET", path, "", header...)
			for what, r := range map[string]*http.Response{"preflight": pre, "answer": refused} {
				if got := r.Header.Get("Access-Control-Allow-Origin"); got != tt.allow {
					t.Errorf("%s: allows %q, want %q", what, got, tt.allow)
				}
				if got := r.Header.Get("Vary") == "Origin"; got != tt.vary {
					t.Errorf("%s: Vary %q", what, r.Header.Get("Vary"))
				}
			}
			if pre.StatusCode != 204 || refused.StatusCode != 401 {
				t.Errorf("preflight %d, without a key %d", pre.StatusCode, refused.StatusCode)
			}
			if tt.allow == "" {
				return
			}
			if got := pre.Header.Get("Access-Control-Allow-Headers"); got != "Authorization, Content-Type, If-None-Match, X-API-Key, x-requested-with" {
				t.Errorf("allows headers %q", got)
			}
			if pre.Header.Get("Access-Control-Allow-Private-Network") != "true" || pre.Header.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" || pre.Header.Get("Access-Control-Max-Age") == "" {
				t.Errorf("preflight %v", pre.Header)
			}
			if got := refused.Header.Get("Access-Control-Expose-Headers"); got != "ETag, Retry-After" {
				t.Errorf("exposes %q", got)
			}
		})
	}
}

func TestCheckOrigin(t *testing.T) {
	for origin, ok := range map[string]bool{
		"https://*.acme.com": false, "*": true, "null": false, "http://localhost:3000": true, "https://app.acme.com": true,
		"localhost:3000": false, "http://a.test/": false, "http://a.test/path": false, "": false, "http://": false, "http://u:p@a.test": false, "http://a.test?q": false,
	} {
		if err := CheckOrigin(origin); (err == nil) != ok {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

package delivery

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	handler := Hosts([]string{"flags.test", "Other.Test."}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"localhost": 200, "localhost:6580": 200, "LOCALHOST:1": 200, "localhost.": 200, "app.localhost:6580": 200,
		"127.0.0.1": 200, "127.0.0.1:6580": 200, "[::1]:6580": 200, "[::1]": 200, "192.168.0.7:80": 200,
		"flags.test": 200, "FLAGS.test:6580": 200, "flags.test.": 200, "other.test": 200,
		"evil.example": 421, "evil.example:6580": 421, "localhost.evil.example": 421, "notlocalhost": 421, "127.0.0.1.evil.example": 421,
		"sub.flags.test": 421, "": 421, "2130706433": 421, "0x7f000001": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q is answered %d, not %d", host, w.Code, want)
		}
		if want == 421 && !strings.Contains(w.Body.String(), `"error":"MISDIRECTED_REQUEST"`) {
			t.Errorf("Host %q: %s", host, w.Body)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for name, good := range map[string]bool{
		"flags.test": true, "flags.test.": true, "Flags": true, "": false, "http://flags.test": false, "flags.test:6580": false, "*.test": false, "a b": false, "flags.test/": false,
		"a,b": false, "a\x1b[31m": false, "a\n": false, "bücher.test": false, "xn--bcher-kva.test": true, "a_b.test": true, "-a": false, "a..b": false, strings.Repeat("a", 254): false,
	} {
		if err := CheckHost(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

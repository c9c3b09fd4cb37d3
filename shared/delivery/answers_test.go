package delivery

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
)

// unread is an answer to a client that takes nothing of it.
type unread struct {
	discard
	held     *atomic.Int64
	most     *atomic.Int64
	deadline time.Time
	status   int
}

func (u *unread) WriteHeader(status int)              { u.status = status }
func (u *unread) SetWriteDeadline(at time.Time) error { u.deadline = at; return nil }

func (u *unread) Write(p []byte) (int, error) {
	if u.status != http.StatusOK {
		return len(p), nil
	}
	var bytes int64
	_, _ = fmt.Sscan(u.header.Get("Content-Length"), &bytes)
	held := u.held.Add(bytes)
	defer u.held.Add(-bytes)
	for most := u.most.Load(); held > most && !u.most.CompareAndSwap(most, held); most = u.most.Load() {
	}
	if u.deadline.IsZero() {
		time.Sleep(time.Hour)
	}
	time.Sleep(time.Until(u.deadline))
	return 0, os.ErrDeadlineExceeded
}

func large(t testing.TB, flags int) *Table {
	var docs []string
	for i := range flags {
		docs = append(docs, fmt.Sprintf(`{"key":"f%d","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"string","value":%q}}]}}`, i, strings.Repeat("x", 100_000)))
	}
	return newTable(sources(t, "["+strings.Join(docs, ",")+"]"), "production", "v1")
}

// TestClientsThatDoNotReadHoldLittle: all of them together, and not for long.
func TestClientsThatDoNotReadHoldLittle(t *testing.T) {
	table := large(t, 30)
	for name, request := range map[string][3]string{"poll": {"GET", evalPrefix + "e30", ""}, "bulk": {"POST", ofrepFlags, "{}"}} {
		synctest.Test(t, func(t *testing.T) {
			h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux()
			var held, most atomic.Int64
			var all sync.WaitGroup
			statuses := make(chan int, 60)
			ask := func(w http.ResponseWriter, from string) {
				r, err := http.NewRequest(request[0], "http://svc.test"+request[1], strings.NewReader(request[2]))
				must.Report(t, err)
				r.RemoteAddr = from
				h.ServeHTTP(w, r)
			}
			begin := time.Now()
			for range cap(statuses) {
				all.Go(func() {
					u := &unread{discard: discard{http.Header{}}, held: &held, most: &most}
					ask(u, "192.0.2.1:1")
					statuses <- u.status
				})
			}
			synctest.Wait()
			other := httptest.NewRecorder()
			ask(other, "192.0.2.2:1")
			if other.Body.Len() < 3_000_000 || time.Since(begin) > 0 {
				t.Errorf("%s: another client gets %d bytes after %v", name, other.Body.Len(), time.Since(begin))
			}
			all.Wait()
			if most := most.Load(); most > bodies.FreelyHeld+bodies.HeldByOne || most < bodies.FreelyHeld/2 {
				t.Errorf("%s: %d bytes are held at once", name, most)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%s: they stand still for %v", name, took)
			}
			served := 0
			for range cap(statuses) {
				switch status := <-statuses; status {
				case http.StatusOK:
					served++
				case http.StatusServiceUnavailable:
				default:
					t.Errorf("%s: %d", name, status)
				}
			}
			if served < 10 {
				t.Errorf("%s: %d are served", name, served)
			}
		})
	}
}

// TestCompression: an answer of more than a kilobyte is sent compressed to who
// takes it, under a tag of its own, and not from a directory.
func TestCompression(t *testing.T) {
	table := newTable(sources(t, manyFlags(20)), "development", "v1")
	small := newTable(sources(t, manyFlags(2)), "development", "v1")
	serve := func(table *Table, compress bool) http.Handler {
		return CORS([]string{"https://a.example"}, (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now, Compress: compress}).Mux())
	}
	for name, ask := range map[string]func(h http.Handler, header ...string) *http.Response{
		"native": func(h http.Handler, header ...string) *http.Response {
			return poll(h, `{"user":{"key":"u"}}`, append(header, "Origin", "https://a.example")...)
		},
		"ofrep": func(h http.Handler, header ...string) *http.Response {
			return do(h, "POST", ofrepFlags, `{"context":{"targetingKey":"u"}}`, append(header, "Origin", "https://a.example")...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain := ask(serve(table, true))
			packed := ask(serve(table, true), "Accept-Encoding", "br, gzip")
			body := text(t, plain)
			unpacked, err := negotiation.Decompress([]byte(text(t, packed)))
			if err != nil || string(unpacked) != body || len(body) < 1024 || packed.ContentLength >= plain.ContentLength/3 {
				t.Errorf("%v: %d bytes of %d", err, packed.ContentLength, len(body))
			}
			if packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
				t.Errorf("%q, %q", packed.Header.Get("Content-Encoding"), plain.Header.Get("Content-Encoding"))
			}
			asked := ask(serve(table, true), "Accept-Encoding", "gzip, deflate, br, zstd")
			decoder := must.Get(zstd.NewReader(asked.Body))(t)
			if unpacked, err := io.ReadAll(decoder); err != nil || string(unpacked) != body || asked.Header.Get("Content-Encoding") != "zstd" || asked.ContentLength >= plain.ContentLength/3 {
				t.Errorf("%v: %d bytes of %d as %q", err, asked.ContentLength, len(body), asked.Header.Get("Content-Encoding"))
			}
			tags := []string{plain.Header.Get("ETag"), packed.Header.Get("ETag"), asked.Header.Get("ETag")}
			if tags[0] == tags[1] || tags[1] == tags[2] || tags[0] == tags[2] {
				t.Errorf("the tags %s are not three", tags)
			}
			for _, answer := range []*http.Response{plain, packed} {
				if vary := strings.Join(answer.Header.Values("Vary"), " "); !strings.Contains(vary, "Accept-Encoding") || !strings.Contains(vary, "Origin") {
					t.Errorf("Vary: %s", vary)
				}
			}
			for _, tag := range tags {
				for _, encoding := range []string{"gzip", "identity"} {
					answer := ask(serve(table, true), "Accept-Encoding", encoding, "If-None-Match", tag)
					if answer.StatusCode != 304 || answer.Header.Get("ETag") != tag || text(t, answer) != "" || answer.Header.Get("Content-Encoding") != "" {
						t.Errorf("%s, %s: %d %v", tag, encoding, answer.StatusCode, answer.Header)
					}
				}
			}
			for what, answer := range map[string]*http.Response{
				"small":       ask(serve(small, true), "Accept-Encoding", "gzip"),
				"a directory": ask(serve(table, false), "Accept-Encoding", "gzip"),
				"refused":     ask(serve(table, true), "Accept-Encoding", "gzip;q=0, zstd;q=0"),
			} {
				if answer.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s is compressed", what)
				}
			}
		})
	}
}

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

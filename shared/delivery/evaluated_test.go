package delivery

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
)

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

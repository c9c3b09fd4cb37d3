package httpapi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
)

// docsPage is the reference page, and its header fields.
func docsPage(t *testing.T) (string, *reply) {
	t.Helper()
	a := newWorld(t, nil).get("/docs", "-").ok()
	return string(a.body), a
}

// TestDocsAllowThemselves: the policy must allow the page's own script and
// styles, to the letter, and nothing that it does not need.
func TestDocsAllowThemselves(t *testing.T) {
	page, a := docsPage(t)
	policy := map[string]string{}
	for _, directive := range strings.Split(a.header.Get("Content-Security-Policy"), "; ") {
		name, sources, _ := strings.Cut(directive, " ")
		policy[name] = sources
	}
	own := map[string]string{"script": "'self'", "style": "'self'"}
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		own[m[1]] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": own["script"], "style-src": own["style"], "img-src": "data:", "connect-src": "'self'",
		"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	} {
		if policy[name] != want {
			t.Errorf("%s is %q, want %q", name, policy[name], want)
		}
		delete(policy, name)
	}
	if len(policy) > 0 {
		t.Errorf("the policy says more: %v", policy)
	}
}

var loaded = regexp.MustCompile(`(?:src|href)="([^#"][^"]*)"`)

// TestDocsLoadOnlyWhatIsServed: every address in the page is relative to it,
// and there.
func TestDocsLoadOnlyWhatIsServed(t *testing.T) {
	for _, base := range []string{"", "/api/v1"} {
		h := must.Get(httpapi.New(httpapi.Options{BasePath: base, PublicURL: "https://svc.test/stage"}, httpapi.Reference()))(t)
		if base == "" {
			base = "/v1"
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", base+"/docs", nil))
		files := 0
		for _, m := range loaded.FindAllStringSubmatch(w.Body.String(), -1) {
			if strings.HasPrefix(m[1], "data:image/svg+xml,") {
				continue
			}
			files++
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", base+"/"+m[1], nil))
			if strings.HasPrefix(m[1], "/") || strings.Contains(m[1], ":") || w.Code != 200 {
				t.Errorf("%s/docs loads %s: %d", base, m[1], w.Code)
			}
		}
		if files != 3 { // with the description
			t.Errorf("%s/docs loads %d files", base, files)
		}
	}
}

// docsFile asks for a file of the page. Files are no part of the description,
// so that nothing holds the answer against it.
func (w *world) docsFile(path string, headers ...string) *reply {
	r := httptest.NewRequest("GET", "http://svc.test/v1/docs/"+path, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return &reply{t: w.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

func TestDocsFiles(t *testing.T) {
	w := newWorld(t, nil)
	for name, want := range map[string]struct{ contentType, begins string }{
		"swagger-ui-bundle.js":             {"text/javascript; charset=utf-8", "/*! For license information please see swagger-ui-bundle.js.LICENSE.txt */"},
		"swagger-ui-bundle.js.LICENSE.txt": {"text/plain; charset=utf-8", "/*!"},
		"swagger-ui.css":                   {"text/css; charset=utf-8", ".swagger-ui{"},
		"LICENSE":                          {"text/plain; charset=utf-8", "\n                                 Apache License"},
		"NOTICE":                           {"text/plain; charset=utf-8", "swagger-ui\n"},
	} {
		path := swaggerui.Digest() + "/" + name
		plain, packed := w.docsFile(path).ok(), w.docsFile(path, "Accept-Encoding: gzip, deflate, br").ok()
		if !bytes.HasPrefix(plain.body, []byte(want.begins)) {
			t.Errorf("%s begins with %.80q", name, plain.body)
		}
		if got := plain.header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s: the encoding %q, though none was asked for", name, got)
		}
		coding := packed.header.Get("Content-Encoding")
		if coding == "gzip" {
			var err error
			packed.body, err = negotiation.Decompress(packed.body)
			must.Do(w.t, err)
		}
		if (coding == "") != (name == "NOTICE") || !bytes.Equal(plain.body, packed.body) {
			t.Errorf("%s: encoded as %q it is another file", name, coding)
		}
		for _, a := range []*reply{plain, packed} {
			for field, want := range map[string]string{
				"Content-Type": want.contentType, "Cache-Control": "public, max-age=31536000, immutable",
				"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding",
			} {
				if got := a.header.Get(field); got != want {
					t.Errorf("%s: %s is %q, want %q", name, field, got, want)
				}
			}
		}
	}
}

func TestOtherDocsFilesAreNotThere(t *testing.T) {
	w := newWorld(t, nil)
	digest := swaggerui.Digest()
	for path, want := range map[string]int{
		"": 404, "swagger-ui.css": 404, digest: 404, digest + "/": 404, digest + "/swagger-ui.css.gz": 404, digest + "/files.go": 404,
		digest + "/swagger-ui.css/": 404, digest + "/..%2FLICENSE": 404, "0000000000000000/swagger-ui.css": 404, "/swagger-ui.css": 404,
		digest + "/swagger%2Dui.css": 200,
	} {
		a := w.docsFile(path, "If-None-Match: *", "Accept-Encoding: gzip")
		if want == 200 {
			want = 304
		}
		if a.status != want || want == 404 && (a.text("/error") != "NOT_FOUND" || strings.Contains(a.header.Get("Cache-Control"), "immutable") || a.header.Get("ETag") != "") {
			t.Errorf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
	}
}

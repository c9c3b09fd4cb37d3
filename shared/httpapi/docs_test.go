package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/jsontree"
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
			packed.body = must.Get(negotiation.Decompress(packed.body))(w.t)
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

var record = flag.Bool("record", false, "record the description as published, in "+published)

// published is the record of what was published last: the version, a hash over
// the whole description, and its surface.
const published = "testdata/published.txt"

const howToRecord = "go test ./shared/httpapi -run TestTheDescriptionIsAsPublished -record"

// TestTheDescriptionIsAsPublished: whoever changes the description says so, by
// recording it again, and v1 only grows.
func TestTheDescriptionIsAsPublished(t *testing.T) {
	version, fingerprint := textOf(spec().At("/info/version")), fingerprintOf(t, spec())
	now := surface(spec())
	text, err := os.ReadFile(published)
	if err != nil && !*record {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) < 2 {
		lines = []string{"", ""}
	}
	before := lines[2:]
	if broken := breaking(before, now); len(broken) > 0 && len(before) > 0 {
		t.Fatalf("openapi.json breaks programs that were written for what is published. v1 only grows: "+
			"take the change back, or make it a /v2.\n  %s", strings.Join(broken, "\n  "))
	}
	if *record {
		text := strings.Join(append([]string{"version " + version, "sha256 " + fingerprint}, now...), "\n") + "\n"
		must.Do(t, errors.Join(os.WriteFile(published, []byte(text), 0o666), os.WriteFile("openapi.json.gz", compressed(t, openapi), 0o666)))
		return
	}
	packed := must.Get(os.ReadFile("openapi.json.gz"))(t)
	if text, err := negotiation.Decompress(packed); err != nil || string(text) != openapi {
		t.Errorf("openapi.json.gz, which the programs have in them, is not openapi.json (%v). Record it:\n  %s", err, howToRecord)
	}
	if lines[0] != "version "+version || lines[1] != "sha256 "+fingerprint {
		t.Errorf("openapi.json (version %s) is not what is recorded as published (%s). It may be: this is an addition%s.\n"+
			"If it is meant, record it, and commit the record with it:\n  %s",
			version, lines[0], differences(before, now), howToRecord)
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	must.Do(t, errors.Join(err, w.Close()))
	return packed.Bytes()
}

// differences lists the new facts, or says that there are none.
func differences(before, now []string) string {
	added := slices.DeleteFunc(slices.Clone(now), func(fact string) bool { return slices.Contains(before, fact) })
	if len(added) == 0 {
		return " to the prose, the examples or the links"
	}
	return ":\n  " + strings.Join(added, "\n  ") + "\n"
}

// fingerprintOf hashes a description, whatever its layout.
func fingerprintOf(t *testing.T, tree *jsontree.Node) string {
	t.Helper()
	var plain any
	must.Do(t, json.Unmarshal(tree.Compact(), &plain))
	sorted := must.Get(json.Marshal(plain))(t)
	return fmt.Sprintf("%x", sha256.Sum256(sorted))
}

// TestBreaking: what grows is told from what breaks.
func TestBreaking(t *testing.T) {
	before, fingerprint := surface(spec()), fingerprintOf(t, spec())
	for _, c := range []struct {
		name, old, new string
		breaks         bool
	}{
		{"prose", `"summary": "List flags"`, `"summary": "All flags"`, false},
		{"a field of an answer is gone", `"nextCursor": {`, `"next": {`, true},
		{"a field of an answer is new", `"nextCursor": {`, `"previousCursor": {"type": "string"}, "nextCursor": {`, false},
		{"a field of an answer may be absent", `"flags",
          "total"`, `"flags"`, true},
		{"a status is new", `"304": {
            "$ref": "#/components/responses/NotModified"`, `"418": {"$ref": "#/components/responses/NotModified"}, "304": {
            "$ref": "#/components/responses/NotModified"`, false},
		{"a request must say more", `"required": [
          "key"
        ]`, `"required": ["key", "tags"]`, true},
		{"a new schema that a request must fit", `"replaceTargeting": {`, `"comment": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}, "replaceTargeting": {`, false},
		{"a parameter's range is wider", `"maximum": 100,`, `"maximum": 1000,`, false},
		{"a parameter's range has another end", `"minimum": 1,`, `"minimum": 2,`, true},
		{"a value of a request is gone", `"TRACE",`, ``, true},
		{"a value of an answer is new", `"service_account"`, `"service_account", "robot"`, true},
		{"another type", `"total": {
            "description": "How many segments there are.",
            "type": "integer"`, `"total": {"description": "", "type": "string"`, true},
	} {
		text := strings.ReplaceAll(openapi, c.old, c.new)
		tree, err := jsontree.Parse([]byte(text))
		if err != nil || text == openapi {
			t.Errorf("%s: the test no longer fits openapi.json: %v", c.name, err)
			continue
		}
		if fingerprintOf(t, tree) == fingerprint {
			t.Errorf("%s: the same fingerprint", c.name)
		}
		if broken := breaking(before, surface(tree)); c.breaks != (len(broken) > 0) {
			t.Errorf("%s: %q", c.name, broken)
		}
	}
}

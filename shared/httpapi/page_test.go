package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/negotiation"
)

// TestAPageIsPackedOnce, and unpacked once: the reference needs no key, and
// must not cost work with every request.
func TestAPageIsPackedOnce(t *testing.T) {
	var m memo
	text := func(*server) []byte { return []byte(strings.Repeat("text ", 1000)) }
	c := &call{server: &server{}, operation: &operation{Endpoint: endpoints.Endpoint{Operation: "getDocs"}}}
	request := httptest.NewRequest("GET", "/", nil)
	request.SetPathValue("digest", swaggerui.Digest())
	request.SetPathValue("file", swaggerui.Style)
	file := &call{server: &server{}, request: request}
	for name, ask := range map[string]func() *page{
		"a page": func() *page { return m.page(c, "text/plain", text) },
		"a file": func() *page {
			p, err := m.file(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			return p.(*page)
		},
	} {
		before, _ := ask().Identity()
		for _, encoding := range []negotiation.Coding{negotiation.GzipCoding, ""} {
			one, _, err := ask().As(encoding)
			other, _, err2 := ask().As(encoding)
			if err != nil || err2 != nil || len(one) == 0 || &one[0] != &other[0] {
				t.Errorf("%s is made again in the encoding %q", name, encoding)
			}
		}
		if after, _ := ask().Identity(); after != before {
			t.Errorf("%s: the tag was %s and is %s", name, before, after)
		}
	}
}

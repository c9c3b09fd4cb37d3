package httpapi_test

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/testing/must"
)

// reads are answered from what was kept of the same head.
var reads = []string{
	"/flags", "/flags?limit=1", "/flags?tag=a", "/flags?status=live", "/flags?limit=1&cursor=x", "/configs", "/log-levels", "/segments",
	"/flags/checkout.redesign", "/flags/nothing", "/configs/limit", "/segments/staff",
	"/flags/checkout.redesign/document", "/flags/checkout.redesign/document?at=main", "/flags?unknown=1", "/flags?limit=no",
}

// TestKeptAnswersAreWhatWouldBeAnswered, to whomever, whatever was written
// meanwhile.
func TestKeptAnswersAreWhatWouldBeAnswered(t *testing.T) {
	w := newWorld(t, shop())
	afresh, err := httpapi.New(httpapi.Options{Service: w.service, Limit: unlimited, PublicURL: "https://svc.test"}, httpapi.All()...)
	must.Do(w.t, err)
	member := w.newKey(access.KindUser)
	for round := range 4 {
		for _, key := range []string{w.key, member, w.key} {
			for _, path := range reads {
				for _, headers := range [][]string{nil, {"Accept-Encoding: gzip"}} {
					ask := func() (string, *httptest.ResponseRecorder) {
						r := httptest.NewRequest("GET", "/v1"+path, nil)
						r.Header.Set("Authorization", "Bearer "+key)
						r.Header.Set("X-Request-Id", "the-same")
						for _, h := range headers {
							name, value, _ := strings.Cut(h, ": ")
							r.Header.Set(name, value)
						}
						a := httptest.NewRecorder()
						w.handler.ServeHTTP(a, r)
						other := httptest.NewRecorder()
						afresh.ServeHTTP(other, r)
						return fmt.Sprint(other.Code, other.Header(), other.Body), a
					}
					if want, got := ask(); fmt.Sprint(got.Code, got.Header(), got.Body) != want {
						t.Errorf("round %d, %s %v:\n%d %v %s\nwant\n%s", round, path, headers, got.Code, got.Header(), got.Body, want)
					}
				}
			}
		}
		switch round {
		case 0:
			w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`)
		case 1:
			w.do("POST", "/flags", `{"key": "another"}`)
		case 2:
			w.commit("By hand", map[string]string{"segments/staff.json": "{"})
		}
	}
}

// TestAKeptAnswerIsNotMadeAgain: what a list takes no longer depends on how many
// items it has. What needs no key is packed once, and unpacked once.
func TestAKeptAnswerIsNotMadeAgain(t *testing.T) {
	files := shop()
	for i := range 2000 {
		files[fmt.Sprintf("feature-flags/many%d.json", i)] = fmt.Sprintf(`{"key": "many%d", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`, i)
	}
	w := newWorld(t, files)
	for _, path := range []string{"flags", "openapi.json", "docs", "docs/" + swaggerui.Digest() + "/" + swaggerui.Script} {
		for _, encoding := range []string{"gzip", "identity"} {
			r := httptest.NewRequest("GET", "/v1/"+path, nil)
			r.Header.Set("Authorization", "Bearer "+w.key)
			r.Header.Set("Accept-Encoding", encoding)
			ask := func() { w.handler.ServeHTTP(&unread{httptest.NewRecorder(), new(atomic.Int64), read}, r) }
			ask()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			made := testing.AllocsPerRun(10, ask)
			if runtime.ReadMemStats(&after); made > 200 || after.TotalAlloc-before.TotalAlloc > 1<<20 {
				t.Errorf("%s, %s: %v allocations, %d bytes", path, encoding, made, after.TotalAlloc-before.TotalAlloc)
			}
		}
	}
}

// read is a client's that takes its answer at once.
var read = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/httpapi/swaggerui"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/must"
)

func TestEntityTags(t *testing.T) {
	w := newWorld(t, shop())
	const path = "/activity" // long enough to be compressed
	plain, packed := w.get(path).ok(), w.get(path, "Accept-Encoding: gzip").ok()
	if plain.header.Get("Content-Encoding") != "" || packed.header.Get("Content-Encoding") != "gzip" || !bytes.Equal(plain.body, packed.body) {
		t.Fatalf("encodings %q and %q", plain.header.Get("Content-Encoding"), packed.header.Get("Content-Encoding"))
	}
	one, other := plain.header.Get("ETag"), packed.header.Get("ETag")
	if one == other || one[0] != '"' || other[0] != '"' {
		t.Fatalf("the tags are %s and %s", one, other)
	}
	if got := plain.header.Get("Vary") + "; " + plain.header.Get("Cache-Control"); got != "Accept-Encoding; private, no-cache" {
		t.Errorf("Vary and Cache-Control: %s", got)
	}
	for _, c := range []struct {
		method, encoding, match string
		want                    int
	}{
		{"GET", "", one, 304}, {"GET", "gzip", other, 304}, {"HEAD", "", one, 304},
		{"GET", "", other, 200}, {"GET", "gzip", one, 200}, {"GET", "", "*", 304},
	} {
		a := w.do(c.method, path, "", "Accept-Encoding: "+c.encoding, "If-None-Match: "+c.match)
		if a.status != c.want || c.want == 304 && (len(a.body) > 0 || a.header.Get("ETag") == "" || a.header.Get("Content-Type") != "") {
			t.Errorf("%+v: %d %v", c, a.status, a.header)
		}
	}
	w.do("PATCH", "/configs/checkout.timeout/environments/staging", `{"value": "PT1S"}`).ok()
	if w.get(path, "If-None-Match: "+one).ok().header.Get("ETag") == one {
		t.Error("the tag is the same after a write")
	}
	if w.get("/flags/nope", "If-None-Match: *").status != 404 || w.get(path, "-", "If-None-Match: *").status != 401 {
		t.Error("If-None-Match hides a refusal")
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	files := shop()
	for i := range 50 {
		key := fmt.Sprintf("f%d", i)
		files["feature-flags/"+key+".json"] = strings.Replace(colour, "colour", key, 1)
	}
	w := newWorldWith(t, files, httpapi.Options{Limit: unlimited, MaxAnswer: 4000})
	a := w.get("/flags")
	if a.refused() != "400 BAD_REQUEST" || !strings.Contains(a.text("/message"), "limit") || !strings.Contains(a.text("/message"), "gzip") || a.header.Get("ETag") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	w.get("/flags", "Accept-Encoding: gzip").ok()
	w.get("/flags?limit=10").ok()
	if a := w.get("/openapi.json", "-", "Accept-Encoding: gzip"); a.status != 400 || strings.Contains(a.text("/message"), "gzip") {
		t.Errorf("too large when compressed: %d %s", a.status, a.body)
	}
	body := `{"key": "big", "type": "string", "value": "` + strings.Repeat("x", 5000) + `"}`
	if a := w.do("POST", "/flags?dryRun=true&impact=true", body); a.refused() != "400 BAD_REQUEST" || !strings.HasSuffix(a.text("/message"), "gzip in Accept-Encoding, or leave impact out") {
		t.Errorf("a dry run: %d %.200s", a.status, a.body)
	}
	w.do("POST", "/flags", body).ok() // it has happened
}

// unread is a client that takes nothing of its answer until it is let.
type unread struct {
	*httptest.ResponseRecorder
	writing *atomic.Int64
	let     chan struct{}
}

func (u *unread) Write(p []byte) (int, error) {
	if u.Code == 200 { // and no refusal of one that has waited for too long
		u.writing.Add(1)
		<-u.let
	}
	return len(p), nil
}

// TestFewListsAreHeldAtOnce: clients that do not read theirs keep a few in memory.
func TestFewListsAreHeldAtOnce(t *testing.T) {
	files := shop()
	for i := range 15 {
		key := fmt.Sprintf("f%d", i)
		flag := strings.Replace(colour, "colour", key, 1)
		files["feature-flags/"+key+".json"] = strings.Replace(flag, "{", `{"description": "`+strings.Repeat("x", 1_000_000)+`", `, 1)
	}
	w := newWorld(t, files)
	u := &unread{writing: &atomic.Int64{}, let: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 20)
	for range cap(ended) {
		go func() {
			to := &unread{httptest.NewRecorder(), u.writing, u.let}
			r := httptest.NewRequestWithContext(ctx, "GET", "http://svc.test/v1/flags", nil)
			r.Header.Set("Authorization", "Bearer "+w.key)
			w.handler.ServeHTTP(to, r)
			ended <- to.Code
		}()
	}
	const most = 2 + 1 // for whoever comes first, and this one's turn
	for begin := time.Now(); u.writing.Load() < most && time.Since(begin) < time.Minute; time.Sleep(time.Millisecond) {
	}
	time.Sleep(300 * time.Millisecond) // for more to come
	if n := u.writing.Load(); n != most {
		t.Errorf("%d lists are held at once, want %d", n, most)
	}
	cancel() // who waits goes
	close(u.let)
	counts := map[int]int{}
	for range cap(ended) {
		counts[<-ended]++
	}
	if counts[200]+counts[503] != cap(ended) || counts[503] == 0 {
		t.Errorf("they got %v", counts)
	}
	w.get("/flags?limit=1").ok()
}

func TestMethods(t *testing.T) {
	w := newWorld(t, shop())
	for path, allow := range map[string]string{
		"/flags": "GET, HEAD, POST", "/flags/colour/document": "GET, HEAD, PUT", "/log-levels/x/revert": "POST", "/openapi.json": "GET, HEAD",
	} {
		for _, method := range []string{"DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if a := w.do(method, path, "", "-"); a.refused() != "405 METHOD_NOT_ALLOWED" || a.header.Get("Allow") != allow {
				t.Errorf("%s %s: %s, Allow %q", method, path, a.refused(), a.header.Get("Allow"))
			}
		}
	}
}

func TestPathsAreTakenAsSent(t *testing.T) {
	w := newWorld(t, shop())
	for path, want := range map[string]string{
		"/flags/a%2Fhistory":                   `there is no flag "a/history"`,
		"/flags/..%2F..%2Fsvc":                 `there is no flag "../../svc"`,
		"/flags/%FF":                           `there is no flag "\xff"`,
		"/flags/colour/environments/a%2Fb":     "405",
		"/flags/" + strings.Repeat("k", 10000): "there is no flag",
	} {
		a := w.get(path)
		if got := strconv.Itoa(a.status) + " " + a.text("/message"); !strings.Contains(got, want) || a.status < 400 || len(a.body) > 1000 {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]int{"/": 404, "/v1": 404, "/v1/": 404, "/v1/flags/../flags": 404, "/v1/schemas/v1/stored-config.json": 404, "/schemas/v1/stored-config.json": 200} {
		r := httptest.NewRequest("GET", "http://svc.test"+path, nil)
		r.Header.Set("Authorization", "Bearer "+w.key)
		if a := w.send(r); a.status != want || a.header.Get("Location") != "" {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// TestRateLimit: the rate is that of each key; package authentication has the order of the
// checks.
func TestRateLimit(t *testing.T) {
	w := newWorldWith(t, shop(), httpapi.Options{Limit: ratelimit.Rate{PerSecond: 0.5, Burst: 1}})
	w.get("/whoami").ok()
	for _, method := range []string{"GET", "HEAD", "PATCH"} {
		if a := w.do(method, map[bool]string{true: "/flags/nope/environments/x", false: "/whoami"}[method == "PATCH"], ""); a.status != 429 || a.header.Get("Retry-After") != "2" {
			t.Errorf("%s beyond the burst: %d, Retry-After %q", method, a.status, a.header.Get("Retry-After"))
		}
	}
	w.get("/whoami", "Authorization: Bearer "+w.newKey(access.KindUser)).ok()
	w.get("/openapi.json", "-").ok()
	w.clock = w.clock.Add(2 * time.Second)
	w.get("/whoami").ok()
}

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
	afresh := must.Get(httpapi.New(httpapi.Options{Service: w.service, Limit: unlimited, PublicURL: "https://svc.test"}, httpapi.All()...))(w.t)
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

// TestARefusalIsShort however long the text is that it is about, and wherever
// in the request that stands.
func TestARefusalIsShort(t *testing.T) {
	w := newWorld(t, shop())
	head := w.get("/activity").ok().text("/activity/0/sha")
	member := "Authorization: Bearer " + w.newKey(access.KindUser)
	long := strings.Repeat("long", 15_000)
	put := func(text string) string { return `{"document": ` + text + `, "expectedCommitSha": "` + head + `"}` }
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/flags/checkout.redesign/document", put(redesign)},
		{"PUT", "/flags/colour/document", put(colour)},
		{"PUT", "/configs/checkout.limits/document", put(limits)},
		{"PUT", "/configs/api.token/document", put(secret)},
		{"PUT", "/log-levels/cart/document", put(cart)},
		{"POST", "/flags", `{"key": "new", "name": "New", "type": "string", "value": "x", "variants": [{"name": "A", "value": "x"}], "tags": ["a"]}`},
		{"POST", "/configs", `{"key": "new", "valueType": "json", "value": {"max": 3}, "schemaKey": "limits", "decryptWith": "master.key"}`},
		{"PATCH", "/flags/colour/environments/staging", `{"rollout": [{"value": "red", "percent": 50}, {"value": "blue", "percent": 50}], "stickyBy": "user.key"}`},
		{"PATCH", "/configs/checkout.limits/environments/staging", `{"value": {"max": 3}, "expectedCommitSha": "` + head + `"}`},
		{"PATCH", "/log-levels/cart/environments/staging", `{"level": "INFO", "target": "a.b"}`},
		{"GET", "/flags/:long", ""},
		{"GET", "/flags/colour/document?at=:long", ""},
		{"GET", "/flags?status=:long&cursor=:long&tag=:long&limit=:long", ""},
		{"GET", "/activity?type=:long&key=:long", ""},
		{"GET", "/contexts?environment=:long&type=:long&limit=:long", ""},
		{"PATCH", "/flags/colour/environments/:long?:long=1", "{}"},
		{":long", "/flags", ""},
	} {
		requests := []string{c.body}
		for _, at := range regexp.MustCompile(`"[^"]*"`).FindAllStringIndex(c.body, -1) {
			requests = append(requests, c.body[:at[0]]+`"`+long+`"`+c.body[at[1]:])
		}
		for _, body := range requests {
			for _, key := range []string{"Authorization: Bearer " + w.key, member, "Authorization: Bearer " + long} {
				a := w.do(strings.ReplaceAll(c.method, ":long", long[:5000]), strings.ReplaceAll(c.path, ":long", long)+dryRun(c.method, c.path), body, key)
				if a.status != 200 && len(a.body) > 20_000 {
					t.Errorf("%s %s: the answer has %d bytes: %.300s", c.method, c.path, len(a.body), a.body)
				}
			}
		}
	}
}

func dryRun(method, path string) string {
	switch {
	case method == "GET" || method == ":long":
		return ""
	case strings.Contains(path, "?"):
		return "&dryRun=true"
	}
	return "?dryRun=true"
}

// TestStrangersAreLimited: what an address may ask without a key that is known
// to be good is counted together. Beyond that a good key still gets in, and
// nothing else costs the storage anything.
func TestStrangersAreLimited(t *testing.T) {
	const budget = 12
	w := newWorldWith(t, shop(), httpapi.Options{Limit: unlimited})
	entered := 0
	w.alter = func(*control.Entry) error { entered++; return nil }
	anonymous := ratelimit.NewBuckets(ratelimit.Rate{PerSecond: 0.5, Burst: budget}, func() time.Time { return w.clock })
	options := httpapi.Options{Service: w.service, Limit: unlimited, Anonymous: anonymous, Now: func() time.Time { return w.clock }}
	w.handler = must.Get(httpapi.New(options, httpapi.All()...))(w.t)
	w.get("/whoami").ok() // a key that is good takes one token when it is new
	asks := []func() string{
		func() string { return w.get("/whoami", "-").refused() },
		func() string { return w.get("/whoami", "Authorization: Bearer nonsense").refused() },
		func() string { return w.get("/nowhere", "-").refused() },
		func() string { return w.do("TRACE", "/flags", "", "-").refused() },
		func() string { return w.get("/docs", "-").refused() },
		func() string { return w.get("/openapi.json", "-").refused() },
	}
	for i := range budget - 1 {
		if got := asks[i%len(asks)](); got == "429 RATE_LIMITED" {
			t.Fatalf("request %d of %d: %s", i, budget, got)
		}
	}
	entered = 0
	for i, ask := range asks {
		if got := ask(); got != "429 RATE_LIMITED" {
			t.Errorf("%d beyond the budget: %s", i, got)
		}
	}
	if a := w.get("/whoami", "Authorization: Bearer nonsense"); a.status != 429 || a.header.Get("Retry-After") != "2" || entered > 0 {
		t.Errorf("beyond the budget: %d, Retry-After %q, %d questions to the storage", a.status, a.header.Get("Retry-After"), entered)
	}
	fresh := w.newKey(access.KindUser)
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
	w.get("/whoami").ok()
	w.clock = w.clock.Add(2 * time.Second)
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
	w.get("/whoami", "Authorization: Bearer "+fresh).ok()
}

package httpapi_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

const unknownSHA = "0123456789012345678901234567890123456789"

// described is a request of a file, and what is to become of it.
type described struct{ method, path, role, body, want string }

// requests are those of a file of testdata, with a blank line between: method, path and, if it
// is not the world's, whose key is sent; a body, where there is one; what becomes of it.
func requests(t *testing.T, name string) (all []described) {
	t.Helper()
	text := string(must.Get(os.ReadFile(filepath.Join("testdata", name)))(t))
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		d := described{want: lines[len(lines)-1], body: strings.Join(lines[1:len(lines)-1], "\n")}
		lines[0], d.role, _ = strings.Cut(lines[0], " as ")
		d.method, d.path, _ = strings.Cut(lines[0], " ")
		all = append(all, d)
	}
	return all
}

// sends sends one, in which $first stands for a commit.
func (w *world) sends(d described, first string) *reply {
	w.t.Helper()
	var headers []string
	switch d.role {
	case "":
	case "nobody":
		headers = []string{"-"}
	default:
		headers = []string{"Authorization: Bearer " + w.newKey(access.KindUser, d.role)}
	}
	return w.do(d.method, strings.ReplaceAll(d.path, "$first", first), strings.ReplaceAll(d.body, "$first", first), headers...)
}

// places are where a refusal finds something wrong.
func (a *reply) places() (places string) {
	a.t.Helper()
	for i := 0; a.at(fmt.Sprintf("/details/issues/%d", i)) != nil; i++ {
		places += " " + a.text(fmt.Sprintf("/details/issues/%d/path", i))
	}
	return strings.TrimSpace(places)
}

// TestRefusals of the requests that testdata has, with all the places that are wrong at once.
func TestRefusals(t *testing.T) {
	w := newWorld(t, shop())
	first := w.get("/activity").ok().text("/activity/0/sha")
	w.do("PATCH", "/flags/colour/environments/staging", `{"value": "blue"}`).ok()
	for _, d := range requests(t, "refusals.txt") {
		a := w.sends(d, first)
		if got := strings.TrimSpace(a.refused() + " " + a.places()); got != d.want || a.text("/message") == "" {
			t.Errorf("%s %s %s: %s, want %s\n%s", d.method, d.path, d.body, got, d.want, a.body)
		}
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	w := newWorld(t, shop())
	if a := w.do("POST", "/flags", `{"key": "`+strings.Repeat("k", 900_000)+`"}`); !strings.HasPrefix(a.text("/message"), "/key: a key is 1 to 200 letters") {
		t.Errorf("a very long key: %.300s", a.body)
	}
	a := w.do("PATCH", "/flags/colour/environments/nowhere?dryrun=1&debug=1",
		`{"rollout": [{"value": "red", "percent": 10.0001}, {"percent": "x"}], "replaceTargetting": true, "replaceTargeting": "yes", "expectedCommitSha": ""}`)
	want := "?debug ?dryrun /replaceTargetting /expectedCommitSha /replaceTargeting /rollout/0/percent /rollout/1/percent /rollout/1/value"
	if a.places() != want || a.refused() != "400 BAD_REQUEST" {
		t.Errorf("%s\n got %s\nwant %s\n%s", a.refused(), a.places(), want, a.body)
	}
	if message := a.text("/details/issues/2/message"); !strings.Contains(message, "replaceTargeting,") {
		t.Errorf("the unknown field: %s", message)
	}
	// What control knows to say better is left to it.
	for body, want := range map[string]string{`{}`: "any JSON value", `{"value": 1}`: "duration"} {
		if a := w.do("PATCH", "/configs/checkout.timeout/environments/staging", body); !strings.Contains(a.text("/message"), want) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
}

func TestBodies(t *testing.T) {
	w := newWorld(t, shop())
	long := `"` + strings.Repeat("long", 25_000) + `"`
	var flood strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&flood, `"f%d": 1, `, i)
	}
	for _, c := range []struct{ body, want, message string }{
		{"", "400 BAD_REQUEST", "empty"},
		{"nope", "400 BAD_REQUEST", "the body cannot be read at 1:"},
		{"{\n \"enabled\": tru}", "400 BAD_REQUEST", "the body cannot be read at 2:"},
		{`{"value": [` + strings.Repeat("[],", 101_000) + "[]]}", "400 BAD_REQUEST", "the body cannot be read at 1:303006: more than 101000 values"},
		{`{"enabled": true} {}`, "400 BAD_REQUEST", "after the end"},
		{`{"enabled": true, "enabled": false}`, "400 BAD_REQUEST", "twice"},
		{"{\"enabled\": \"\xff\"}", "400 BAD_REQUEST", "UTF-8"},
		{strings.Repeat("[", 5000), "400 BAD_REQUEST", "deeper"},
		{`[]`, "400 BAD_REQUEST", "object, not an array"},
		{`null`, "400 BAD_REQUEST", "object, not null"},
		{`{` + long + `: 1, "enabled": true}`, "400 BAD_REQUEST", "unknown field"},
		{`{` + flood.String() + `"enabled": true}`, "400 BAD_REQUEST", "unknown field"},
		{`{` + long + `: 1, ` + long + `: 1}`, "400 BAD_REQUEST", "the name"},
		{`{"enabled": true, "x": "` + strings.Repeat("x", 1<<20) + `"}`, "413 PAYLOAD_TOO_LARGE", "1 MiB"},
	} {
		a := w.do("PATCH", "/flags/checkout.redesign/environments/staging", c.body, "Content-Type: application/x-www-form-urlencoded")
		if a.refused() != c.want || !strings.Contains(a.text("/message"), c.message) {
			t.Errorf("%.60q: %s %.300s", c.body, a.refused(), a.body)
		}
		if len(a.body) > 20_000 {
			t.Errorf("%.60q: an answer of %d bytes", c.body, len(a.body))
		}
	}
	exact := `{"enabled": true` + strings.Repeat(" ", 1<<20-17) + "}"
	if a := w.do("PATCH", "/flags/checkout.redesign/environments/staging", exact); a.status != 200 || len(exact) != 1<<20 {
		t.Errorf("a body of exactly 1 MiB (%d): %d", len(exact), a.status)
	}
	syntax := w.do("PUT", "/flags/colour/document", "{\n  \"document\": {\"key\": nope}}")
	if syntax.at("/details/line") != 2.0 || syntax.text("/details/issues/0/path") != "/document/key" {
		t.Errorf("a slip deep in a body: %s", syntax.body)
	}
}

// TestADeletionTakesNoBody: what stands in one, such as the commit that was seen, would not
// be looked at.
func TestADeletionTakesNoBody(t *testing.T) {
	w := newWorld(t, shop())
	w.do("PUT", "/schemas/shape/document", `{"document": {"type": "object"}}`).ok()
	w.do("POST", "/openfeature/v0/manifest/flags", `{"key": "banner", "type": "boolean", "defaultValue": true}`).ok()
	paths := map[string]string{
		"deleteFlag": "/flags/colour", "deleteManifestFlag": "/openfeature/v0/manifest/flags/banner", "deleteConfig": "/configs/checkout.timeout",
		"deleteLogLevel": "/log-levels/log-level.shop", "deleteSegment": "/segments/beta-users", "deleteSchema": "/schemas/shape", "deleteContext": "/contexts/user/u-1", "withdrawApproval": "/change-requests/1/approvals"}
	before := w.commits()
	every(func(_, method string, operation *jsontree.Node) {
		id, _ := operation.Get("operationId").Text()
		if method != "delete" {
			return
		}
		for _, body := range []string{`{"expectedCommitSha": "` + unknownSHA + `"}`, `{}`, " ", strings.Repeat("x", 3<<20)} {
			for _, again := range []string{"X: y", "Idempotency-Key: " + id} {
				a := w.do("DELETE", paths[id], body, again)
				if a.status != 400 || !strings.Contains(string(a.body), "DELETE takes no body") {
					t.Errorf("%s with a body of %d bytes: %d %.300s", id, len(body), a.status, a.body)
				}
				if told := strings.Contains(string(a.body), "?expectedCommitSha="); told == (id == "deleteContext" || id == "deleteManifestFlag" || id == "withdrawApproval") {
					t.Errorf("%s: what is told of the query: %.300s", id, a.body)
				}
			}
		}
	})
	if now := w.commits(); now != before {
		t.Errorf("%d commits were made", now-before)
	}
	w.do("DELETE", paths["deleteFlag"], "", "Idempotency-Key: deleteFlag").ok()
	if a := w.do("DELETE", paths["deleteFlag"], `{}`, "Idempotency-Key: deleteFlag"); a.status != 400 {
		t.Errorf("the same with a body, under the key of one without: %d %s", a.status, a.body)
	}
	chunked := httptest.NewRequest("DELETE", "http://svc.test/v1/configs/checkout.timeout", io.MultiReader(strings.NewReader("{}")))
	chunked.Header.Set("Authorization", "Bearer "+w.key)
	answer := httptest.NewRecorder()
	if w.handler.ServeHTTP(answer, chunked); answer.Code != 400 {
		t.Errorf("a body without a length: %d %s", answer.Code, answer.Body)
	}
}

func TestAuthorization(t *testing.T) {
	w := newWorld(t, shop())
	other := newWorld(t, shop())
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VjcmV0LXNpZ25hdHVyZQ"
	for _, c := range []struct{ header, message string }{
		{"-", "no key"},
		{"Authorization: ", "no key"},
		{"Authorization: Bearer", "no key behind Bearer"},
		{"Authorization: " + w.key, "not Bearer; send the header Authorization: Bearer <API key>"},
		{"Authorization: Basic " + w.key, "not Bearer; send the header Authorization: Bearer <API key>"},
		{"Authorization: Bearer " + jwt, "web tokens"},
		{"Authorization: Bearer nonsense", "svc_uk_"},
		{"Authorization: Bearer " + w.key[:len(w.key)-1] + "!", "checksum"},
		{"Authorization: Bearer " + w.newKey(access.KindPublicSDK), "svc_uk_"},
		{"Authorization: Bearer " + w.newKey(access.KindSecretSDK), "svc_uk_"},
		{"Authorization: Bearer " + other.newKey(access.KindUser), "not accepted"},
	} {
		a := w.get("/whoami", c.header)
		if a.refused() != "401 UNAUTHORIZED" || !strings.Contains(a.text("/message"), c.message) {
			t.Errorf("%s: %d %s", c.header, a.status, a.body)
		}
		if strings.Contains(string(a.body), w.key[7:]) {
			t.Errorf("the answer to %s repeats the key", c.header)
		}
		if _, credential, _ := strings.Cut(c.header, "Bearer "); len(credential) > 10 && strings.Contains(string(a.body)+w.log.String(), credential) {
			t.Errorf("the answer or the log repeats %s", credential)
		}
	}
	if a := w.get("/whoami", "-", "Cookie: session=1"); !strings.Contains(a.text("/message"), "cookies") {
		t.Errorf("a cookie: %s", a.body)
	}
	r := httptest.NewRequest("GET", "/v1/whoami", nil)
	r.Header["Authorization"] = []string{"Bearer " + w.key, "Bearer " + w.key}
	if a := w.send(r); a.refused() != "401 UNAUTHORIZED" {
		t.Errorf("two headers: %d", a.status)
	}
	w.get("/whoami", "Authorization: bearer  "+w.key).ok()
}

func TestFailuresSayNothingInsideAndAreLogged(t *testing.T) {
	w := newWorld(t, shop())
	for _, c := range []struct {
		fail func() error
		want string
	}{
		{func() error { return errors.New("dial 10.0.0.1") }, "500 INTERNAL"},
		{func() error { panic("dial 10.0.0.1") }, "500 INTERNAL"},
		{func() error { var m map[string]int; m["dial 10.0.0.1"] = 1; return nil }, "500 INTERNAL"},
		{func() error { return context.DeadlineExceeded }, "503 SERVICE_UNAVAILABLE"},
	} {
		w.alter = func(*control.Entry) error { return c.fail() }
		a := w.get("/flags?tag=s3cret", "X-Request-Id: build-17")
		if a.refused() != c.want || strings.Contains(string(a.body), "dial") {
			t.Errorf("%s: %s", a.refused(), a.body)
		}
		id := a.header.Get("X-Request-Id")
		if id != "build-17" || a.status == 500 && a.text("/details/requestId") != id {
			t.Errorf("requestId is %s, X-Request-Id %s", a.text("/details/requestId"), id)
		}
		log := w.log.String()
		if !strings.Contains(log, id) || !strings.Contains(log, "listFlags") {
			t.Errorf("the log does not name %s: %s", id, log)
		}
		if strings.Contains(log, "s3cret") || strings.Contains(log, w.key) {
			t.Errorf("the log holds what it must not: %s", log)
		}
	}
	if log := w.log.String(); strings.Count(log, "dial") != 1 || strings.Count(log, "stack=") != 2 || !strings.Contains(log, "a string") {
		t.Errorf("the log has not the cause, or what a panic held: %s", log)
	}
}

// TestValuesOfRequestsAreNotRepeated where the request cannot be read, nor in the log.
func TestValuesOfRequestsAreNotRepeated(t *testing.T) {
	w := newWorld(t, shop())
	const path, value = "/configs/api.token/environments/staging", "n3w-s3cr3t"
	for _, body := range []string{`{"value": "` + value + `", "x": 1}`, `{"value": "` + value + `", "expectedCommitSha": "main"}`, `{"value": "` + value + `"`} {
		if a := w.do("PATCH", path, body); a.status < 400 || strings.Contains(string(a.body), value) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	w.do("PATCH", path, `{"value": "`+value+`"}`).ok()
	if strings.Contains(w.log.String(), value) {
		t.Errorf("the log shows it: %s", w.log)
	}
}

// refusals are all errors: status, code, details.code.
var refusals = strings.Split(strings.TrimSpace(`
400 BAD_REQUEST -
400 BAD_REQUEST VALIDATION_FAILED
400 BAD_REQUEST SCHEMA_VIOLATION
401 UNAUTHORIZED -
402 BILLING_INACTIVE -
403 FORBIDDEN PERMISSION_DENIED
404 NOT_FOUND -
405 METHOD_NOT_ALLOWED -
409 CONFLICT STALE_COMMIT_SHA
409 CONFLICT ALREADY_EXISTS
409 CONFLICT REFERENCED
409 CONFLICT OVERLAP
409 CONFLICT AMBIGUOUS_COMMIT
413 PAYLOAD_TOO_LARGE -
422 UNPROCESSABLE_CONTENT VERIFY_REJECTION
422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH
422 UNPROCESSABLE_CONTENT -
429 RATE_LIMITED -
500 INTERNAL -
503 SERVICE_UNAVAILABLE -`), "\n")

// TestEveryRefusalIsShown: the examples show every kind of refusal, and no
// other.
func TestEveryRefusalIsShown(t *testing.T) {
	shown := map[string]bool{}
	every(func(_, _ string, o *jsontree.Node) {
		for _, r := range o.Get("responses").Members {
			examples := deref(r.Value).At("/content/application~1json/examples")
			if r.Name < "400" || examples == nil {
				continue
			}
			for _, e := range examples.Members {
				code := "-"
				if text := textOf(e.Value.At("/value/details/code")); text != "" {
					code = text
				}
				shown[strings.Join([]string{r.Name, textOf(e.Value.At("/value/error")), code}, " ")] = true
			}
		}
	})
	for _, refusal := range refusals {
		if !shown[refusal] {
			t.Errorf("%s: no operation shows it", refusal)
		}
		delete(shown, refusal)
	}
	for refusal := range shown {
		t.Errorf("%s is shown, and there is none", refusal)
	}
}

// TestNoOtherRefusals: what the code can say is in the table above.
func TestNoOtherRefusals(t *testing.T) {
	for kind := fault.Internal; kind <= fault.Unavailable; kind++ {
		if kind == fault.URITooLong || kind == fault.Misdirected {
			continue // delivery's: a key is never that long, and no key is sent by itself
		}
		start := fmt.Sprintf("%d %s ", kind.Status(), kind.Code())
		if !slices.ContainsFunc(refusals, func(r string) bool { return strings.HasPrefix(r, start) }) {
			t.Errorf("the kind %s is not in the table", start)
		}
	}
	codes := detailCodes(t, filepath.Join("..", "refusal"))
	if len(codes) < 6 {
		t.Errorf("refusal has only the codes %v: does the test still find them?", codes)
	}
	for _, code := range codes {
		if !slices.ContainsFunc(refusals, func(r string) bool { return strings.HasSuffix(r, " "+code) }) {
			t.Errorf("details.code %s is not in the table", code)
		}
	}
}

var code = regexp.MustCompile(`(?m)^\s*Code\w+ *= "(\w+)"`)

// detailCodes are the values of a package's constants Code...
func detailCodes(t *testing.T, dir string) (codes []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range files {
		text, problem := os.ReadFile(path)
		err = errors.Join(err, problem)
		for _, found := range code.FindAllSubmatch(text, -1) {
			codes = append(codes, string(found[1]))
		}
	}
	must.Do(t, err)
	return codes
}

// TestMain ends a run of all tests with a look at what they have seen: an
// operation that was never answered with 200, or a status that no answer had,
// is described on trust.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && all("test.run", "test.fuzz", "test.list", "test.skip") {
		if unseen := unseen(); len(unseen) > 0 {
			fmt.Printf("no test has had the answers %s\n", strings.Join(unseen, ", "))
			code = 1
		}
	}
	os.Exit(code)
}

func unseen() []string {
	statuses := map[string]bool{}
	var missing []string
	every(func(_, _ string, o *jsontree.Node) {
		id := textOf(o.Get("operationId"))
		for _, r := range o.Get("responses").Members {
			_, had := seen.Load(id + " " + r.Name)
			statuses[r.Name] = statuses[r.Name] || had
			if r.Name == "200" && !had {
				missing = append(missing, id+" 200")
			}
		}
	})
	for status, had := range statuses {
		if !had {
			missing = append(missing, status)
		}
	}
	slices.Sort(missing)
	return missing
}

// all reports whether none of the flags that choose among the tests is set.
func all(choices ...string) bool {
	return !slices.ContainsFunc(choices, func(name string) bool { return flag.Lookup(name).Value.String() != "" })
}

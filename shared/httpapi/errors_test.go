package httpapi_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

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

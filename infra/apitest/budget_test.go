package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// size is how much there is in a workspace.
type size struct{ documents, commits int }

func (s size) String() string {
	return fmt.Sprintf("%d documents, %d commits", s.documents, s.commits)
}

// TestBudgets counts what each kind of request asks of the stores, through the
// handlers: the same, however much there is.
func TestBudgets(t *testing.T) {
	sizes := []size{{10, 1000}, {1000, 100}}
	if full() {
		sizes = []size{{10, 100}, {10, 20_000}, {10_000, 100}}
	}
	for _, n := range sizes {
		t.Run(n.String(), func(t *testing.T) {
			b := newBudgets(t, n)
			b.unchanged(b.instance()) // since the import
			b.writes()
			b.repeats()
			b.rollouts()
			b.reverts()
			b.reads()
			b.imported()
			b.filtered()
			b.elsewhere()
			b.signedIn()
			b.contexts()
			b.changeSets()
			b.manifests()
			b.requests()
		})
	}
}

// budgets is a workspace of a size and what its instances have asked for.
type budgets struct {
	*testing.T
	*service
	size        size
	judge       *judge
	meter       *meter.Meter
	rounds      *meter.Rounds
	charged     *charges
	sdk, secret string // keys of applications
	serial      int
}

func newBudgets(t *testing.T, n size) *budgets {
	t.Helper()
	h := open(t)
	source := must.Get(source.Read(background(t), n.repository(t), filepath.ToSlash))(t)
	h.workspace = must.Get(h.stores.Create(background(t), admin.Creation{Name: "shop", Source: &source}))(t)
	h.keys = []string{h.issueKey(t, "Ada", "ada@example.com", "protected_engineer")}
	return h.metered(t, n)
}

// metered is a service whose instances' requests count.
func (h *service) metered(t *testing.T, n size) *budgets {
	t.Helper()
	b := &budgets{T: t, service: h, size: n, judge: h.newJudge(t), meter: meter.New(), rounds: &meter.Rounds{Only: instance.Waits}, charged: &charges{}}
	b.meter.Only = instance.Waits
	for kind, key := range map[access.Kind]*string{access.KindPublicSDK: &b.sdk, access.KindSecretSDK: &b.secret} {
		made, _, err := h.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: kind, Name: "app", Environment: "production"})
		must.Do(t, err)
		*key = made.Reveal()
	}
	return b
}

// repository makes a git repository of a size, by git's own means.
func (n size) repository(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	g := apiload.Git{Program: testenv.Program(t, "install git", "git"), Dir: dir}
	g.Run(t, "init", "--quiet", "--initial-branch=main")
	var stream bytes.Buffer
	for i := range n.commits {
		message := fmt.Sprintf("change %d\n", i)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter Grace <grace@example.com> %d +0000\ndata %d\n%s", 1_700_000_000+i, len(message), message)
		if i > 0 {
			n.file(&stream, i%n.documents, i)
			continue
		}
		modify(&stream, "svc.json", `{"environments": ["staging", "production"]}`)
		for d := range n.documents {
			n.file(&stream, d, 0)
		}
	}
	in := exec.Command(g.Program, "fast-import", "--quiet")
	in.Dir, in.Stdin = dir, &stream
	if out, err := in.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.Run(t, "reset", "--quiet", "--hard")
	return dir
}

func (n size) key(document int) string { return fmt.Sprintf("flag-%05d", document%n.documents) }

func (n size) file(w io.Writer, document, version int) {
	flag := apiload.NewDocument("feature_flag", "bool", n.key(document), fmt.Sprint("version ", version), apiload.ValueOf("bool", false),
		apiload.Object{"value": apiload.ValueOf("bool", false)}, apiload.Object{"value": apiload.ValueOf("bool", true)})
	modify(w, apiload.PathOf("flags", n.key(document)), apiload.Canonical(flag))
}

func modify(w io.Writer, path, text string) {
	fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
}

// instance is an instance that has read nothing, and whose requests count.
func (b *budgets) instance() http.Handler {
	b.Helper()
	api := must.Get(b.New(background(b), func(function string, c *aws.Config) {
		b.judge.watch(function, c)
		c.APIOptions = append(c.APIOptions, b.meter.Install, b.rounds.Install, b.charged.install)
	}, slog.New(slog.DiscardHandler)))(b)
	return api
}

// asks sends a request and returns what it took.
func (b *budgets) asks(api http.Handler, method, path, body string) (asked map[string]int, inARow int, answer string) {
	b.Helper()
	b.meter.Take()
	b.rounds.Take()
	w := b.send(api, method, path, body, nil)
	return b.meter.Take().Requests(), b.rounds.Take(), w.Body.String()
}

// send sends a request, with more headers, with the key that its path takes.
func (b *budgets) send(api http.Handler, method, path, body string, more http.Header) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+b.keys[0])
	for of, key := range map[string]string{poll: b.sdk, telemetryPath: b.sdk, documentsPath: b.secret} {
		if path == of {
			r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
		}
	}
	maps.Copy(r.Header, more)
	w := httptest.NewRecorder()
	if api.ServeHTTP(w, r); w.Code/100 != 2 && w.Code != http.StatusNotModified {
		b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w
}

// takes demands what a request takes.
func (b *budgets) takes(what string, api http.Handler, path string, rounds int, want map[string]int) {
	b.Helper()
	asked, inARow, _ := b.asks(api, "GET", path, "")
	if !maps.Equal(asked, want) || inARow > rounds {
		b.Errorf("%s took %v, %d in a row; allowed are %v, %d in a row", what, asked, inARow, want, rounds)
	}
}

// oneWrite is what a write takes.
var oneWrite = map[string]int{"BatchGetItem": 1, "PutObject": 2, "TransactWriteItems": 1}

// spends demands what a request takes, and returns the answer. A write puts a snapshot now
// and then, which is not counted.
func (b *budgets) spends(what string, api http.Handler, method, path, body string, want map[string]int) (answer string) {
	b.Helper()
	asked, _, answer := b.asks(api, method, path, body)
	if want["PutObject"] > 0 {
		asked["PutObject"] = min(asked["PutObject"], want["PutObject"])
	}
	if !maps.Equal(asked, want) {
		b.Errorf("%s took %v; allowed are %v", what, asked, want)
	}
	return answer
}

// and is a budget with so many queries more.
func and(budget map[string]int, queries int) map[string]int {
	more := maps.Clone(budget)
	more["Query"] += queries
	return more
}

const (
	documentsPath = "/api/v2/configs"
	poll          = documentsPath + "/eval-with-context/e30"
	telemetryPath = "/api/v1/telemetry/"
)

// pages are all kinds of reads that need no more than the newest state.
func (b *budgets) pages() []string {
	flag := "/v1/flags/" + b.size.key(1)
	return []string{"/v1/whoami", "/v1/workspace", "/v1/environments", "/v1/export", "/v1/flags", flag, flag + "/document", "/v1/configs", "/v1/log-levels", "/v1/segments", "/openfeature/v0/manifest", poll}
}

// reads: what a cold instance and a warm one need.
func (b *budgets) reads() {
	once := map[string]int{"BatchGetItem": 1}
	for _, path := range b.pages() {
		api := b.instance()
		if path != "/v1/whoami" {
			api = b.cold(path)
		}
		b.charged.take()
		b.takes("warm, GET "+path, api, path, 1, once)
		if reads, _ := b.charged.take(); path == poll && reads != 1 {
			b.Errorf("a warm poll was charged %.1f read units; allowed is the head alone", reads)
		}
	}
	b.evaluations()
	api, flag := b.instance(), "/v1/flags/"+b.size.key(1)
	b.asks(api, "GET", flag, "")
	b.asks(api, "GET", "/v1/activity?limit=1", "") // which is another function
	page := map[string]int{"BatchGetItem": 1, "Query": 1}
	b.takes("the history of an item", api, flag+"/history?limit=5", 2, page)
	b.takes("a page of the feed", api, "/v1/activity?limit=60", 2, page)
	b.takes("the activity of an item", api, "/v1/activity?limit=5&type=feature_flag&key="+b.size.key(1), 2, page)
	b.past(api, flag)
}

// evaluations: what a context is served costs what any other read costs.
func (b *budgets) evaluations() {
	b.Helper()
	api, body := b.instance(), `{"environment": "production", "context": {"user": {"key": "u-1"}}, "explain": true}`
	once := map[string]int{"BatchGetItem": 1}
	b.spends("a cold evaluation", api, "POST", "/v1/evaluate", body, map[string]int{"BatchGetItem": 1, "Query": 1, "GetObject": 1})
	b.spends("a warm evaluation", api, "POST", "/v1/evaluate", body, once)
	var told struct{ Activity []struct{ SHA string } }
	_, _, text := b.asks(b.instance(), "GET", "/v1/activity", "")
	must.Do(b, json.Unmarshal([]byte(text), &told))
	head, previous := told.Activity[0].SHA, ""
	for _, entry := range told.Activity {
		if previous = entry.SHA; previous != head {
			break
		}
	}
	past := fmt.Sprintf(`{"environment": "production", "at": %q}`, previous)
	// The commit is found, what it changed, and what that was before.
	if asked, _, _ := b.asks(api, "POST", "/v1/evaluate", past); asked["BatchGetItem"] != 1 || asked["Query"] > 5 || asked["GetObject"] > 1 || len(asked) > 3 {
		b.Errorf("an evaluation at the commit before took %v; allowed are 1 BatchGetItem, 5 Query and 1 GetObject", asked)
	}
	b.spends("an evaluation there again", api, "POST", "/v1/evaluate", past, and(once, 2))
}

// again is how often something is done whose rounds are too many: what is made
// at once may look as if it were not, but never the other way round.
const again = 10

// cold reads with a new instance, and returns it.
func (b *budgets) cold(path string) http.Handler {
	b.Helper()
	for try := 1; ; try++ {
		api := b.instance()
		asked, inARow, _ := b.asks(api, "GET", path, "")
		want := map[string]int{"BatchGetItem": 1, "Query": 1, "GetObject": 1}
		if path == "/v1/flags" || path == "/v1/configs" {
			want["BatchGetItem"] = 2 // when items were evaluated last: one row, known for a minute
		}
		if !maps.Equal(asked, want) || inARow > 2 && try == again {
			b.Errorf("cold, GET %s took %v, %d in a row; allowed are %v, 2 in a row", path, asked, inARow, want)
		}
		if inARow <= 2 || try == again {
			return api
		}
	}
}

// past: a document at a commit of long ago.
func (b *budgets) past(api http.Handler, flag string) {
	var told struct{ History []apiload.Entry }
	_, _, text := b.asks(api, "GET", flag+"/history", "")
	must.Do(b, json.Unmarshal([]byte(text), &told))
	oldest := told.History[len(told.History)-1].SHA
	for _, revision := range []string{oldest, oldest[:10]} {
		b.takes("a document at "+revision, api, flag+"/document?at="+revision, 4, map[string]int{"BatchGetItem": 1, "Query": 2, "GetObject": 1})
	}
}

// maxCompared bounds what an entry of the feed takes whose messages are worked
// out from the document before and after, because git made the commit.
const maxCompared = 6

// imported: a page of the feed that git's commits are on. It takes more, but no
// more with a long history.
func (b *budgets) imported() {
	api := b.instance()
	b.asks(api, "GET", "/v1/flags", "")
	_, _, text := b.asks(api, "GET", fmt.Sprintf("/v1/activity?limit=%d", manyToggles), "")
	var page struct{ NextCursor string }
	must.Do(b, json.Unmarshal([]byte(text), &page))
	const limit = 20
	asked, _, _ := b.asks(api, "GET", fmt.Sprintf("/v1/activity?limit=%d&cursor=%s", limit, page.NextCursor), "")
	total := 0
	for _, n := range asked {
		total += n
	}
	if total > 2+limit*maxCompared {
		b.Errorf("a page of %d commits that git made took %v", limit, asked)
	}
	b.Logf("a page of %d commits that git made took %v", limit, asked)
}

// unchanged: a new instance says so by the head alone, which tells the versions.
func (b *budgets) unchanged(served http.Handler) {
	b.Helper()
	tag := http.Header{"If-None-Match": {b.send(served, "GET", poll, "", nil).Header().Get("ETag")}}
	api := b.instance()
	b.meter.Take()
	answer := b.send(api, "GET", poll, "", tag)
	if asked, want := b.meter.Take().Requests(), map[string]int{"BatchGetItem": 1}; answer.Code != http.StatusNotModified || !maps.Equal(asked, want) {
		b.Errorf("cold, an unchanged poll answered %d and took %v; allowed is 304 and %v", answer.Code, asked, want)
	}
}

// elsewhere: reads and writes after others have written.
func (b *budgets) elsewhere() {
	here, there := b.instance(), b.instance()
	b.asks(here, "GET", "/v1/flags", "")
	b.asks(here, "GET", poll, "") // which is another function
	for _, commits := range []int{1, 20} {
		for range commits {
			b.toggles(there)
		}
		what := fmt.Sprintf("after %d commits elsewhere, ", commits)
		b.takes(what+"a read", here, "/v1/flags", 2, map[string]int{"BatchGetItem": 1, "Query": 1})
		b.toggles(there)
		b.takes(what+"in another environment, a poll", here, poll, 1, map[string]int{"BatchGetItem": 1})
		b.asks(there, "PATCH", "/v1/flags/"+b.size.key(0)+"/environments/production", fmt.Sprintf(`{"enabled": %t}`, commits == 1))
		b.takes(what+"a poll", here, poll, 2, map[string]int{"BatchGetItem": 1, "Query": 1})
		b.unchanged(here)
	}
	least := again
	for range again {
		b.toggles(there)
		asked, inARow := b.toggles(here)
		least = min(least, inARow)
		if asked["Query"] != 1 || asked["BatchGetItem"] != 1 || asked["TransactWriteItems"] != 1 {
			b.Errorf("a write after a commit elsewhere took %v", asked)
		}
	}
	if least > 4 {
		b.Errorf("a write after a commit elsewhere took %d requests in a row, allowed are 4", least)
	}
}

// filtered: what a filter of the feed takes is bounded, however little passes.
func (b *budgets) filtered() {
	api := b.instance()
	b.asks(api, "GET", "/v1/activity?environment=staging&limit=1", "")
	const limit, searched = 20, 16 // requests for the pages of some 5,000 commits
	for _, filter := range []string{"author=nobody", "until=2001-01-01T00:00:00Z", "since=2101-01-01T00:00:00Z", "author=Grace", "environment=production", "environment=staging&author=ada@example.com"} {
		asked, _, text := b.asks(api, "GET", fmt.Sprintf("/v1/activity?limit=%d&%s", limit, filter), "")
		var page struct {
			Activity []struct {
				Type                    *string
				AuthorName, AuthorEmail string
				Messages                []struct{ Scope string }
			}
		}
		must.Do(b, json.Unmarshal([]byte(text), &page))
		name, value, _ := strings.Cut(filter, "=")
		for _, e := range page.Activity {
			scopes := fmt.Sprint(e.Messages)
			if name != "author" && name != "environment" || name == "author" && e.AuthorName != value || name == "environment" && e.Type != nil && !strings.Contains(scopes, "{"+strings.Split(value, "&")[0]+"}") {
				b.Errorf("a page of the feed with %s has %+v", filter, e)
			}
		}
		if (filter == "author=Grace" || name == "environment") && len(page.Activity) == 0 {
			b.Errorf("a page of the feed with %s is empty", filter)
		}
		most := searched
		if filter == "author=Grace" || filter == "environment=production" { // git has made some of them
			most += limit * maxCompared
		}
		if asked["BatchGetItem"] != 1 || asked["Query"]+asked["GetObject"] > most || asked["GetObject"] > 2*limit || len(asked) > 3 {
			b.Errorf("a page of the feed with %s took %v; allowed are 1 BatchGetItem and %d more", filter, asked, most)
		}
		b.Logf("a page of the feed with %s took %v", filter, asked)
	}
}

// signedIn: what is asked by a session costs what it costs by a key, and signing in and out
// costs what any change of keys does.
func (b *budgets) signedIn() {
	b.Helper()
	const pages = "/console/api"
	edit := map[string]int{"GetItem": 1, "Query": 1, "TransactWriteItems": 1}
	api, session := b.instance(), ""
	page := func(api http.Handler, method, path, body string) map[string]int {
		b.Helper()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		asPage(r, session)
		w := httptest.NewRecorder()
		b.meter.Take()
		if api.ServeHTTP(w, r); w.Code/100 != 2 {
			b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		for _, cookie := range w.Result().Cookies() {
			session = cookie.Value
		}
		return b.meter.Take().Requests()
	}
	if asked := page(api, "POST", pages+"/session", fmt.Sprintf(`{"oneTimeKey": %q}`, b.oneTime(b, "grace"))); !maps.Equal(asked, edit) {
		b.Errorf("signing in took %v; allowed are %v", asked, edit)
	}
	for _, path := range []string{"/v1/flags", "/v1/flags/" + b.size.key(1), "/v1/activity?limit=10"} {
		byKey, bySession := b.instance(), b.instance()
		for _, how := range []string{"cold", "warm"} {
			want, _, _ := b.asks(byKey, "GET", path, "")
			if asked := page(bySession, "GET", pages+path, ""); !maps.Equal(asked, want) {
				b.Errorf("%s, GET %s by a session took %v; by a key %v", how, path, asked, want)
			}
		}
	}
	want, _, _ := b.asks(b.instance(), "GET", "/v1/whoami", "")
	for _, api := range []http.Handler{b.instance(), api} {
		if asked := page(api, "GET", pages+"/session", ""); !maps.Equal(asked, want) {
			b.Errorf("who is signed in took %v; by a key %v", asked, want)
		}
	}
	edit["BatchGetItem"] = 1
	if asked := page(api, "DELETE", pages+"/session", ""); !maps.Equal(asked, edit) {
		b.Errorf("signing out took %v; allowed are %v", asked, edit)
	}
}

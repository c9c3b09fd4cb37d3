package httpapi_test

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

// commits is how many the history holds.
func (w *world) commits() int64 {
	w.t.Helper()
	return w.head().Sequence
}

// filled puts in the last commit of an item where @ stands before its path, and
// the one before that for @@.
func (w *world) filled(text string) string {
	w.t.Helper()
	before, after, found := strings.Cut(text, "@/")
	if !found {
		return text
	}
	path := "/" + strings.SplitN(after, `"`, 2)[0]
	rest := strings.TrimPrefix("/"+after, path)
	sha := w.get(path + "/document").ok().text("/commitSha")
	if earlier, two := strings.CutSuffix(before, "@"); two {
		before = earlier
		folder, key := strings.Replace(strings.Split(path, "/")[1], "log-levels", "log_level", 1), strings.Split(path, "/")[2]
		sha = w.get("/activity?type=" + folder + "&key=" + key).ok().text("/activity/1/sha")
	}
	return before + sha + rest
}

// TestEveryWriteIsMadeOnceUnderItsKey: whatever has happened since, and wherever the server
// is reached by now, the same request under the same key has the same answer, and changes
// nothing.
func TestEveryWriteIsMadeOnceUnderItsKey(t *testing.T) {
	w := newWorld(t, shop())
	type made struct {
		method, path, body, key string
		answer                  *reply
	}
	var all []made
	tried := map[string]bool{}
	again := func(m made) {
		t.Helper()
		before := w.commits()
		a := w.do(m.method, m.path, m.body, "Idempotency-Key: "+m.key)
		if a.status != m.answer.status || string(a.body) != string(m.answer.body) || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s %s again: %d, replayed %q\n%s, want\n%s", m.method, m.path, a.status, a.header.Get("Idempotency-Replayed"), a.body, m.answer.body)
		}
		if now := w.commits(); now != before {
			t.Errorf("%s %s again made %d commits", m.method, m.path, now-before)
		}
	}
	for i, write := range requests(t, "writes.txt") { // one of each kind, in an order in which each changes something
		w.serve(httpapi.Options{Limit: unlimited, PublicURL: "https://first.test:1"})
		m := made{write.method, w.filled(write.path), w.filled(write.body), fmt.Sprint("write-", i), nil}
		before := w.commits()
		m.answer = w.do(m.method, m.path, m.body, "Idempotency-Key: "+m.key).ok()
		if w.commits() != before+1 || m.answer.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s %s made %d commits, replayed %q", m.method, m.path, w.commits()-before, m.answer.header.Get("Idempotency-Replayed"))
		}
		w.serve(httpapi.Options{Limit: unlimited, PublicURL: "https://second.test:2"})
		again(m)
		all = append(all, m)
		tried[write.want] = true
	}
	for _, m := range all {
		again(m)
	}
	tried["deleteContext"] = true // it makes no commit, and what is forgotten leaves nothing to be told again
	every(func(path, method string, operation *jsontree.Node) {
		if strings.HasPrefix(path, "/guards/") {
			return // which have no such keys: TestAnAlertTakesBackWhatNamedItsGuard
		}
		if strings.HasPrefix(path, "/change-requests") {
			return // which make no commit: TestWritesOfRequestsAreMadeOnceUnderTheirKey
		}
		id, _ := operation.Get("operationId").Text()
		if safe, _ := operation.Get("x-safe").Bool(); method != "get" && !safe && !tried[id] {
			t.Errorf("%s is not tried", id)
		}
	})
}

func (w *world) head() repository.Head {
	w.t.Helper()
	return must.Get(w.ledger.Head(w.t.Context()))(w.t)
}

// merges has main be a merge of the head and of a commit on its parent, by git.
func (w *world) merges() {
	w.t.Helper()
	git := func(args ...string) string {
		return strings.TrimSpace(realgit.Run(w.t, w.ledger.Repository(), args...))
	}
	other := git("commit-tree", "main~1^{tree}", "-p", "main~1", "-m", "beside")
	git("update-ref", "refs/heads/main", git("commit-tree", "main^{tree}", "-p", other, "-p", "main", "-m", "merge"))
}

const toggle = "/flags/checkout.redesign/environments/production"

func TestWhatAnIdempotencyKeyDoes(t *testing.T) {
	const on, off = `{"enabled": true}`, `{"enabled": false}`
	for name, test := range map[string]struct {
		do   func(w *world)
		want string // the answer to switching the flag on under the key k
	}{
		"nothing before": {func(w *world) {}, "made"},
		"the same":       {func(w *world) { w.do("PATCH", toggle, on, "Idempotency-Key: k").ok() }, "replayed"},
		"another body":   {func(w *world) { w.do("PATCH", toggle, `{"enabled":true}`, "Idempotency-Key: k").ok() }, "422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH"},
		"another path": {func(w *world) {
			w.do("PATCH", "/flags/checkout.redesign/environments/staging", on, "Idempotency-Key: k").ok()
		}, "422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH"},
		"another query":  {func(w *world) { w.do("PATCH", toggle+"?dryRun=false", on, "Idempotency-Key: k").ok() }, "422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH"},
		"another method": {func(w *world) { w.do("POST", "/flags", `{"key": "x"}`, "Idempotency-Key: k").ok() }, "422 UNPROCESSABLE_CONTENT IDEMPOTENCY_MISMATCH"},
		"another key":    {func(w *world) { w.do("PATCH", toggle, on, "Idempotency-Key: K").ok() }, "no-op"},
		"no key":         {func(w *world) { w.do("PATCH", toggle, on).ok() }, "no-op"},
		"a dry run":      {func(w *world) { w.do("PATCH", toggle+"?dryRun=true", on, "Idempotency-Key: k").ok() }, "made"},
		"a no-op":        {func(w *world) { w.do("PATCH", toggle, off, "Idempotency-Key: k").ok() }, "made"},
		"a refusal":      {func(w *world) { w.do("PATCH", "/flags/none/environments/production", on, "Idempotency-Key: k") }, "made"},
		"a read":         {func(w *world) { w.get("/flags", "Idempotency-Key: k").ok() }, "made"},
		"an evaluation": {func(w *world) {
			w.do("POST", "/evaluate", `{"environment": "production", "context": {}}`, "Idempotency-Key: k").ok()
		}, "made"},
		"23 hours": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.clock = w.clock.Add(23 * time.Hour)
		}, "replayed"},
		"24 hours": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.clock = w.clock.Add(24 * time.Hour)
		}, "no-op"},
		"changed back since": {func(w *world) { w.do("PATCH", toggle, on, "Idempotency-Key: k").ok(); w.do("PATCH", toggle, off).ok() }, "replayed"},
		"deleted since": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.do("DELETE", "/flags/checkout.redesign", "").ok()
		}, "replayed"},
		"the environment is archived": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.commit("archive", map[string]string{"svc.json": `{"environments": [{"name": "production", "archived": true}, "staging"]}`})
		}, "replayed"},
		"the role was taken away": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.alter = func(e *control.Entry) error { e.Principal.Roles = []string{"member"}; return nil }
		}, "replayed"},
		"24 hours by the ledger's clock": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.alter = func(e *control.Entry) error { e.Now = w.clock.Add(24 * time.Hour); return nil }
		}, "no-op"},
		"the history was merged": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.merges()
		}, "replayed"},
		"the history was replaced": {func(w *world) {
			head := w.head()
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			must.Do(w.t, os.WriteFile(filepath.Join(w.ledger.Repository(), "refs", "heads", "main"), []byte(head.Commit+"\n"), 0o666))
		}, "made"},
		"the subscription lapsed": {func(w *world) {
			w.do("PATCH", toggle, on, "Idempotency-Key: k").ok()
			w.alter = func(e *control.Entry) error { e.Workspace.BillingInactive = true; return nil }
		}, "402 BILLING_INACTIVE"},
		"somebody else": {func(w *world) {
			other := w.newKey(access.KindServiceAccount, "protected_engineer")
			w.do("PATCH", toggle, on, "Idempotency-Key: k", "Authorization: Bearer "+other).ok()
		}, "no-op"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop())
			test.do(w)
			before := w.commits()
			a := w.do("PATCH", toggle, on, "Idempotency-Key: k")
			got := a.refused()
			switch {
			case a.status != 200:
			case a.header.Get("Idempotency-Replayed") == "true":
				got = "replayed"
			case w.commits() == before:
				got = "no-op"
			default:
				got = "made"
			}
			if got != test.want {
				t.Errorf("got %s, want %s: %s", got, test.want, a.body)
			}
		})
	}
}

func TestWhatIsNoIdempotencyKey(t *testing.T) {
	w := newWorld(t, shop())
	for key, status := range map[string]int{
		"":                                       400,
		strings.Repeat("x", 255):                 200,
		strings.Repeat("x", 256):                 400,
		"two words":                              400,
		"tab\there":                              400,
		"ümlaut":                                 400,
		"\x7f":                                   400,
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: 200,
	} {
		for _, r := range []struct{ method, path, body string }{
			{"PATCH", toggle, fmt.Sprintf(`{"enabled": %t}`, w.commits()%2 == 0)}, {"DELETE", "/configs/none", ""},
		} {
			a := w.do(r.method, r.path, r.body, "Idempotency-Key: "+key)
			if refused := a.status == 400; refused != (status == 400) || refused && a.text("/details/issues/0/path") != "Idempotency-Key" {
				t.Errorf("%q: %s %s is %d %s", key, r.method, r.path, a.status, a.body)
			}
		}
	}
	a := w.do("PATCH", toggle, `{"enabled": 1, "typo": 2}`, "Idempotency-Key: two words")
	for _, place := range []string{"Idempotency-Key", "/enabled", "/typo"} {
		if !strings.Contains(string(a.body), `"`+place+`"`) {
			t.Errorf("not all is told at once: %s", a.body)
		}
	}
	r := httptest.NewRequest("PATCH", "http://svc.test/v1"+toggle, strings.NewReader(`{"enabled": true}`))
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header["Idempotency-Key"] = []string{"a", "b"}
	if a := w.send(r); a.status != 400 {
		t.Errorf("two headers: %d %s", a.status, a.body)
	}
}

// TestRequestsAtOnceUnderOneKey: one wins, and the others have its answer.
func TestRequestsAtOnceUnderOneKey(t *testing.T) {
	w := newWorld(t, shop())
	for round := range 20 {
		const many = 8
		answers := make([]*reply, many)
		before := w.commits()
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				answers[i] = w.do("POST", "/flags", fmt.Sprintf(`{"key": "once-%d"}`, round), fmt.Sprint("Idempotency-Key: round-", round))
			})
		}
		all.Wait()
		made := 0
		for _, a := range answers {
			if a.ok().header.Get("Idempotency-Replayed") == "" {
				made++
			}
			if string(a.body) != string(answers[0].body) {
				t.Errorf("%s and %s", a.body, answers[0].body)
			}
		}
		if made != 1 || w.commits() != before+1 {
			t.Errorf("round %d: %d were made, %d commits", round, made, w.commits()-before)
		}
	}
}

// TestKeysThatLeadToNothingLeaveNothing: as many keys as anybody sends take no more
// room than what has landed under them.
func TestKeysThatLeadToNothingLeaveNothing(t *testing.T) {
	w := newWorld(t, shop())
	w.do("PATCH", toggle, `{"enabled": true}`, "Idempotency-Key: first").ok()
	size := func() (bytes int64) {
		must.Do(w.t, filepath.WalkDir(filepath.Dir(w.ledger.Repository()), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				var info fs.FileInfo
				info, err = entry.Info()
				bytes += info.Size()
			}
			return err
		}))
		return bytes
	}
	commits, before, held := w.commits(), size(), memory.InUse()
	const keys = 10_000
	for i := range keys {
		body := `{"enabled": true}` // as it is
		if i%2 == 0 {
			body = `{"enabled": "yes"}` // refused
		}
		r := httptest.NewRequest("PATCH", "http://svc.test/v1"+toggle, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+w.key)
		r.Header.Set("Idempotency-Key", fmt.Sprint("key-", i))
		w.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if w.commits() != commits || size() != before {
		t.Errorf("%d commits and %d bytes more", w.commits()-commits, size()-before)
	}
	if grown := memory.InUse() - held; grown > keys*10 {
		t.Errorf("%d keys under which nothing landed take %d bytes", keys, grown)
	}
}

// TestAnswersAreToldAgainAfterARestart: what is remembered is found without the index of
// the history too.
func TestAnswersAreToldAgainAfterARestart(t *testing.T) {
	w := newWorld(t, shop())
	first := w.do("PATCH", toggle, `{"enabled": true}`, "Idempotency-Key: k").ok()
	for _, lost := range []string{"", "history.cache"} {
		dir := filepath.Dir(w.ledger.Repository())
		must.Do(w.t, w.ledger.Close())
		if lost != "" {
			must.Do(w.t, os.Remove(filepath.Join(dir, lost)))
		}
		w.ledger = must.Get(local.Open(t.Context(), dir, local.Options{}))(w.t)
		w.repo = repository.New(w.ledger, w.ledger.Objects())
		a := w.do("PATCH", toggle, `{"enabled": true}`, "Idempotency-Key: k").ok()
		if a.header.Get("Idempotency-Replayed") != "true" || string(a.body) != string(first.body) {
			t.Errorf("without %q: %s, want %s", lost, a.body, first.body)
		}
		w.do("POST", "/configs", `{"key": "between`+lost+`", "valueType": "int", "value": 1}`).ok()
	}
}

// TestALargeAnswerIsToldAgainInBrief: of one over 64 KiB the commits are remembered.
func TestALargeAnswerIsToldAgainInBrief(t *testing.T) {
	w := newWorld(t, shop())
	for _, test := range []struct {
		name, path, body string
		bytes, status    int
		brief            bool
	}{
		{"small", "/configs", `{"key": "small", "valueType": "string", "value": "%s"}`, 10 << 10, 200, false},
		{"large", "/configs", `{"key": "large", "valueType": "string", "value": "%s"}`, change.MaxRemembered, 200, true},
		{"created", "/openfeature/v0/manifest/flags", `{"key": "created", "type": "string", "defaultValue": "%s"}`, change.MaxRemembered, 201, true},
	} {
		body := fmt.Sprintf(test.body, strings.Repeat("x", test.bytes))
		before := w.head().Commit
		first := w.do("POST", test.path, body, "Idempotency-Key: "+test.name)
		want := string(first.body)
		if test.brief {
			want = fmt.Sprintf(`{"changed":true,"commitSha":%q,"previousCommitSha":%q}`, w.head().Commit, before)
		}
		w.do("PATCH", toggle, fmt.Sprintf(`{"enabled": %t}`, w.commits()%2 == 0))
		again := w.do("POST", test.path, body, "Idempotency-Key: "+test.name)
		if first.status != test.status || first.header.Get("Idempotency-Truncated") != "" || !strings.Contains(string(first.body), "xxxx") {
			t.Errorf("%s: %d %v %.100s", test.name, first.status, first.header, first.body)
		}
		if again.status != test.status || string(again.body) != want || again.header.Get("Idempotency-Replayed") != "true" || (again.header.Get("Idempotency-Truncated") == "true") != test.brief {
			t.Errorf("%s, again: %d %v %.200s", test.name, again.status, again.header, again.body)
		}
	}
}

// TestAWriteThatDependsOnAnETagIsRefused, as it would overwrite what its sender has never
// seen; "*" depends on nothing, and reads do not look at it.
func TestAWriteThatDependsOnAnETagIsRefused(t *testing.T) {
	w := newWorld(t, shop())
	const path = "/flags/checkout.redesign/environments/production"
	tag := w.get("/flags/checkout.redesign/document", `If-Match: "nonsense"`).ok().header.Get("ETag")
	before := w.commits()
	for _, value := range []string{tag, `"nonsense"`, `W/"a"`, `*, "a"`, ""} {
		for _, write := range [][3]string{{"PATCH", path, `{"enabled": true}`}, {"PATCH", path + "?dryRun=true", `{"enabled": true}`},
			{"DELETE", "/flags/checkout.redesign", ""}, {"POST", "/flags", `{"key": "fresh"}`}, {"POST", "/changes", `{"operations": [{"op": "delete", "type": "feature_flag", "key": "colour"}]}`}} {
			a := w.do(write[0], write[1], write[2], "If-Match: "+value)
			if a.status != 400 || !strings.Contains(string(a.body), "If-Match: ") || !strings.Contains(string(a.body), "expectedCommitSha") {
				t.Errorf("%s %s, If-Match: %s: %d %s", write[0], write[1], value, a.status, a.body)
			}
		}
	}
	if now := w.commits(); now != before {
		t.Errorf("%d commits were made", now-before)
	}
	w.do("POST", "/evaluate", `{"environment": "production", "context": {}}`, `If-Match: "a"`).ok()
	w.do("PATCH", path, `{"enabled": true}`, "If-Match: *").ok()
	w.do("DELETE", "/flags/checkout.redesign", "", "If-Match:  * ").ok()
}

package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"

	"svc.example/svc/shared/testing/must"
)

// toggled is how many flags change.
const toggled = 5

// toggles changes a flag.
func (b *budgets) toggles(api http.Handler) (asked map[string]int, inARow int) {
	b.serial++
	body := fmt.Sprintf(`{"enabled": %t}`, b.serial/toggled%2 == 0)
	asked, inARow, _ = b.asks(api, "PATCH", "/v1/flags/"+b.size.key(b.serial%toggled)+"/environments/staging", body)
	return asked, inARow
}

// manyToggles are enough for a snapshot to be due.
const manyToggles = 70

// writes: one writer, nobody else.
func (b *budgets) writes() {
	api := b.instance()
	b.asks(api, "GET", "/v1/flags", "")
	snapshots, least := 0, manyToggles
	for range manyToggles {
		asked, inARow := b.toggles(api)
		least = min(least, inARow)
		if asked["PutObject"] == 3 {
			snapshots++
			asked["PutObject"]--
		}
		if !maps.Equal(asked, oneWrite) {
			b.Errorf("write %d took %v; allowed are %v, and now and then one more to put", b.serial, asked, oneWrite)
		}
	}
	if least > 3 {
		b.Errorf("a write took %d requests in a row, allowed are 3", least)
	}
	if snapshots > manyToggles/30 {
		b.Errorf("%d writes put %d snapshots", manyToggles, snapshots)
	}
	once := map[string]int{"BatchGetItem": 1}
	b.takes("warm, after its own writes", api, "/v1/flags", 1, once)
}

// maxRead is how many documents of the history a rollout may read.
const maxRead = 4

// rollouts: where none stands, one page of the item's history is read, and then
// documents of it, four at the most: nothing else costs a write more.
func (b *budgets) rollouts() {
	api, path := b.instance(), "/v1/flags/"+b.size.key(0)+"/environments/production"
	b.asks(api, "GET", "/v1/flags", "")
	const off, half, most = `{"enabled": false}`, `{"rollout": [{"value": true, "percent": 50}, {"value": false, "percent": 50}]}`,
		`{"rollout": [{"value": true, "percent": 90}, {"value": false, "percent": 10}]}`
	first, _, _ := b.asks(api, "PATCH", path, half)
	if queries, objects := 1+2*maxRead, maxRead; first["Query"] > queries || first["GetObject"] > objects || first["BatchGetItem"] > 1 {
		b.Errorf("a first rollout of a flag that git has made took %v; allowed are %d Query and %d GetObject", first, queries, objects)
	}
	b.spends("a rollout that is ramped up", api, "PATCH", path, most, oneWrite)
	b.spends("a rollout that is switched off", api, "PATCH", path, off, oneWrite)
	b.spends("a rollout that is switched on again", api, "PATCH", path, half, and(oneWrite, 1+2))
}

// reverts: a deletion costs what a toggle does; a reversion also the documents of
// the commit and before it. Applications see it, on an instance that has nothing but the
// head too.
func (b *budgets) reverts() {
	api, key, version := b.instance(), b.size.key(0), ""
	b.asks(api, "GET", "/v1/flags", "")
	flag := "/v1/flags/" + key
	commitOf := func(answer string) string {
		var told struct{ CommitSHA string }
		must.Do(b, json.Unmarshal([]byte(answer), &told))
		return told.CommitSHA
	}
	revert := func(what, mode, commit string, queries int) (made string) {
		b.Helper()
		asked, _, text := b.asks(api, "POST", flag+"/revert", fmt.Sprintf(`{"mode": %q, "commitSha": %q}`, mode, commit))
		asked["PutObject"] = min(asked["PutObject"], 2)
		if asked["GetObject"] == 1 {
			delete(asked, "GetObject") // what was before need not be in memory
		}
		if want := and(oneWrite, queries); !maps.Equal(asked, want) {
			b.Errorf("%s took %v; allowed are %v", what, asked, want)
		}
		return commitOf(text)
	}
	served := func() (served, moved bool) {
		_, _, text := b.asks(b.instance(), "GET", poll, "")
		var told struct {
			Evaluations map[string]any
			Meta        struct{ Version string }
		}
		must.Do(b, json.Unmarshal([]byte(text), &told))
		moved, version = told.Meta.Version != version, told.Meta.Version
		return told.Evaluations[key] != nil, moved
	}
	toggle := commitOf(b.spends("a toggle", api, "PATCH", flag+"/environments/default", `{"enabled": true}`, oneWrite))
	revert("an undo of the last change", "undo", toggle, 2)
	restoration := revert("a restoration", "restore", toggle, 2)
	served()
	deletion := commitOf(b.spends("a deletion", api, "DELETE", flag, "", oneWrite))
	if served, moved := served(); served || !moved {
		b.Errorf("a deleted flag is served: %t; the version has moved: %t", served, moved)
	}
	revert("an undo of a deletion", "undo", deletion, 4)
	if served, moved := served(); !served || !moved {
		b.Errorf("a flag that came back is served: %t; the version has moved: %t", served, moved)
	}
	revert("an undo of an earlier change", "undo", restoration, 5)
}

// repeats: a write under an Idempotency-Key takes what any write does. One that has
// landed is answered again by its row, once the commit was found in the history.
func (b *budgets) repeats() {
	here, there := b.instance(), b.instance()
	b.asks(here, "GET", "/v1/flags", "")
	path, body := "/v1/flags/"+b.size.key(1)+"/environments/production", `{"enabled": true}`
	once := http.Header{"Idempotency-Key": {"once"}}
	send := func(api http.Handler) (asked map[string]int, answer *httptest.ResponseRecorder) {
		b.meter.Take()
		answer = b.send(api, "PATCH", path, body, once)
		return b.meter.Take().Requests(), answer
	}
	made, first := send(here)
	if made["PutObject"] = min(made["PutObject"], 2); !maps.Equal(made, oneWrite) {
		b.Errorf("a write under a key took %v; allowed are %v", made, oneWrite)
	}
	again := func(what string, api http.Handler) {
		b.Helper()
		asked, answer := send(api)
		if answer.Header().Get("Idempotency-Replayed") != "true" || answer.Body.String() != first.Body.String() {
			b.Errorf("%s, it is answered %s and not %s", what, answer.Body, first.Body)
		}
		if asked["BatchGetItem"] > 1 || asked["Query"] > 1 || len(asked) > 2 {
			b.Errorf("%s, the answer again took %v; allowed are a BatchGetItem and a Query", what, asked)
		}
	}
	again("here", here)
	again("on an instance that is new", there)
	b.asks(here, "PATCH", path, `{"enabled": false}`)
	again("after another change", here)
}

// changeSets: of up to 90 documents two requests more than a single write, of more
// four for each 25.
func (b *budgets) changeSets() {
	b.Helper()
	api := b.instance()
	b.asks(api, "POST", "/v1/changes", creations("first", 1))
	for _, c := range []struct{ documents, most int }{{1, 5}, {90, 4 + 2}, {120, 4 + 2 + 4*6}, {500, 4 + 2 + 4*20}} { // with a snapshot, now and then
		b.serial++
		asked, _, _ := b.asks(api, "POST", "/v1/changes", creations(fmt.Sprint("many-", b.serial), c.documents))
		requests := 0
		for _, n := range asked {
			requests += n
		}
		if b.Logf("a change set of %d documents took %v", c.documents, asked); requests > c.most {
			b.Errorf("%d documents took %d requests, allowed are %d", c.documents, requests, c.most)
		}
	}
}

// requests: proposing is a read of the key and a transaction; what is told of one takes another
// read, and whose approvals count one of the principals. To apply it takes, beside the write,
// that it is being applied and that it was, and what the audit trail is told.
func (b *budgets) requests() {
	api := b.instance()
	b.asks(api, "GET", "/v1/flags", "")
	within := func(what string, most int, method, path, body string) string {
		b.Helper()
		asked, _, text := b.asks(api, method, path, body)
		requests := 0
		for _, n := range asked {
			requests += n
		}
		if b.Logf("%s took %v", what, asked); requests > most {
			b.Errorf("%s took %d requests, allowed are %d: %s", what, requests, most, text)
		}
		return text
	}
	b.serial++
	key := fmt.Sprint("requested-", b.serial)
	var made struct{ ID string }
	body := fmt.Sprintf(`{"title": "t", "operations": [{"op": "create", "type": "feature_flag", "body": {"key": %q}}]}`, key)
	b.asks(api, "POST", "/v1/change-requests?dryRun=true", body) // which reads the workspace
	must.Do(b, json.Unmarshal([]byte(within("a proposal", 6, "POST", "/v1/change-requests", body)), &made))
	path := "/v1/change-requests/" + made.ID
	within("a list", 2, "GET", "/v1/change-requests?state=open", "")
	within("a request", 2, "GET", path, "")
	within("a comment", 4, "POST", path+"/comments", `{"text": "x"}`)
	within("to apply", 14, "POST", path+"/apply", "")
	within("an applied one", 2, "GET", path, "")
}

// manifests: what the OpenFeature CLI asks costs what the same read or write of a flag
// costs.
func (b *budgets) manifests() {
	b.Helper()
	api := b.instance()
	b.asks(api, "GET", "/openfeature/v0/manifest", "")
	const flags, changed = "/openfeature/v0/manifest/flags", `{"key": "from-the-cli", "type": "boolean", "description": "Changed", "defaultValue": false}`
	b.spends("a flag of a manifest", api, "POST", flags, `{"key": "from-the-cli", "type": "boolean", "defaultValue": true}`, oneWrite)
	b.spends("its change", api, "PUT", flags+"/from-the-cli", changed, oneWrite)
	b.spends("its change again", api, "PUT", flags+"/from-the-cli", changed, map[string]int{"BatchGetItem": 1})
	b.spends("its deletion", api, "DELETE", flags+"/from-the-cli", "", oneWrite)
}

// reports sends telemetry, and returns what that took.
func (b *budgets) reports(api http.Handler, event string) map[string]int {
	b.Helper()
	b.serial++
	b.meter.Take()
	b.send(api, "POST", telemetryPath, fmt.Sprintf(`{"instanceHash": "i", "batchId": "%s-%d", "events": [%s]}`, b.size, b.serial, event), nil)
	return b.meter.Take().Requests()
}

// savedContexts are enough for three pages of a query, of 1 MB each.
const savedContexts = 2000

// contexts: a dry run that tells the impact reads the saved contexts page by page, as
// an export does; to forget somebody takes as much as is kept of them.
func (b *budgets) contexts() {
	b.Helper()
	api := b.instance()
	for first := 0; first < savedContexts; first += savedContexts / 4 {
		var contexts []string
		for i := first; i < first+savedContexts/4; i++ { // each of about a kilobyte
			contexts = append(contexts, fmt.Sprintf(`{"contextSet": {"contexts": [{"type": "user", "values": {"key": "u-%d", "name": "Person u-%d.", "about": %q, "more": %q, "rest": %q}}]}}`,
				i, i, strings.Repeat("a", 400), strings.Repeat("b", 400), strings.Repeat("c", 400)))
		}
		b.reports(b.instance(), `{"exampleContexts": {"examples": [`+strings.Join(contexts, ",")+`]}}`)
	}
	path := "/v1/flags/" + b.size.key(2) + "/environments/production"
	b.asks(api, "GET", "/v1/flags", "")
	enabled := `{"enabled": true, "replaceTargeting": true}`
	set := fmt.Sprintf(`{"operations": [{"op": "patch", "type": "feature_flag", "key": %q, "environment": "production", "body": %s}]}`, b.size.key(2), enabled)
	for _, dry := range []struct{ method, path, body string }{{"PATCH", path, enabled}, {"POST", "/v1/changes", set}} {
		b.asks(api, dry.method, dry.path+"?dryRun=true", dry.body)
		var told struct {
			Impact map[string]struct {
				Contexts, Changed int
				Complete          bool
			}
		}
		var asked map[string]int
		for tries := 0; tries < 10 && !told.Impact["production"].Complete; tries++ { // a busy machine has no time for all of them
			var text string
			asked, _, text = b.asks(api, dry.method, dry.path+"?dryRun=true&impact=true", dry.body)
			must.Do(b, json.Unmarshal([]byte(text), &told))
		}
		if e := told.Impact["production"]; len(told.Impact) != 1 || e.Contexts != savedContexts || e.Changed != savedContexts || !e.Complete {
			b.Errorf("%s: the impact is %+v", dry.path, told.Impact)
		}
		if pages := asked["Query"] - 1; pages < 2 || pages > 4 || asked["BatchGetItem"] != 1 || len(asked) != 2 {
			b.Errorf("%s: the impact on %d contexts took %v; allowed are a BatchGetItem, a Query, and one for each page", dry.path, savedContexts, asked)
		}
	}
	b.spends("a dry run without impact", api, "PATCH", path+"?dryRun=true", enabled, map[string]int{"BatchGetItem": 1})
	b.asks(api, "GET", "/v1/contexts/export?environment=production&limit=1", "")
	b.takes("a page of an export", api, "/v1/contexts/export?environment=production&limit=500", 3, map[string]int{"BatchGetItem": 1, "Query": 2})
	b.spends("to forget a person", api, "DELETE", "/v1/contexts/user/u-7", "", map[string]int{"BatchGetItem": 2, "Query": 3, "TransactWriteItems": 1})
	if _, _, text := b.asks(api, "GET", "/v1/contexts?query=u-7.", ""); strings.Contains(text, `"u-7"`) {
		b.Errorf("u-7 is still found: %s", text)
	}
}

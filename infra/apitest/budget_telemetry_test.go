package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

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
			must(b, json.Unmarshal([]byte(text), &told))
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

// counts: many reports of evaluations cost what one does, but once a minute; an item's
// counts are one query, and lists take a row more, once a minute.
func (b *budgets) counts() {
	b.Helper()
	api := b.instance()
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf(`{"key": "%s", "counters": [{"count": 3, "selectedValue": {"bool": false}}]}`, b.size.key(i)))
	}
	summaries := `{"summaries": {"summaries": [` + strings.Join(ten, ",") + `]}}`
	first := b.reports(api, summaries)
	if first["GetObject"] > 1 || first["Query"] > 1 || first["BatchGetItem"] != 3 || first["PutItem"] > 10 {
		b.Errorf("the first report of evaluations took %v; allowed are the workspace, two BatchGetItem more, and a row for each eighth of the items, for their last day and for the batch", first)
	}
	for range 3 {
		if asked, want := b.reports(api, summaries), map[string]int{"BatchGetItem": 2, "PutItem": 1}; !maps.Equal(asked, want) {
			b.Errorf("another report of evaluations took %v; allowed are %v", asked, want)
		}
	}
	flag := "/v1/flags/" + b.size.key(1)
	other := b.instance()
	b.asks(other, "GET", flag, "")
	b.takes("an item's evaluations", other, flag+"/evaluations?days=60", 2, map[string]int{"BatchGetItem": 1, "Query": 1})
	if _, _, text := b.asks(other, "GET", flag+"/evaluations", ""); !strings.Contains(text, `"values":[{"value":false,"count":3}]`) {
		b.Errorf("what was counted at once: %s", text)
	}
	b.asks(other, "GET", "/v1/flags?limit=1", "")
	b.takes("the next list", other, "/v1/flags?limit=1", 1, map[string]int{"BatchGetItem": 1})
	if _, _, text := b.asks(other, "GET", "/v1/flags", ""); !strings.Contains(text, `"lastEvaluatedAt"`) {
		b.Error("a list does not tell when flags were evaluated")
	}
}

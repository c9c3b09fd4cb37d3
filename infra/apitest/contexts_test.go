package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
)

// savedContexts are enough for three pages of a query, of 1 MB each.
const savedContexts = 2000

// contexts: a dry run that tells the impact reads the saved contexts page by page, as
// an export does; who is forgotten takes what there is of them.
func (b *budgets) contexts() {
	b.Helper()
	api := b.instance()
	const atOnce = savedContexts / 4
	for first := 0; first < savedContexts; first += atOnce {
		b.report(first, atOnce)
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
	without := map[string]int{"BatchGetItem": 1}
	if asked, _, _ := b.asks(api, "PATCH", path+"?dryRun=true", enabled); !maps.Equal(asked, without) {
		b.Errorf("a dry run without impact took %v, allowed are %v", asked, without)
	}
	b.asks(api, "GET", "/v1/contexts/export?environment=production&limit=1", "")
	b.takes("a page of an export", api, "/v1/contexts/export?environment=production&limit=500", 3, map[string]int{"BatchGetItem": 1, "Query": 2})
	forgotten := map[string]int{"BatchGetItem": 2, "Query": 3, "TransactWriteItems": 1}
	if asked, _, _ := b.asks(api, "DELETE", "/v1/contexts/user/u-7", ""); !maps.Equal(asked, forgotten) {
		b.Errorf("to forget a person took %v, allowed are %v", asked, forgotten)
	}
	if _, _, text := b.asks(api, "GET", "/v1/contexts?query=u-7.", ""); strings.Contains(text, `"u-7"`) {
		b.Errorf("u-7 is still found: %s", text)
	}
}

// report reports contexts of production, each of about a kilobyte.
func (b *budgets) report(first, n int) {
	b.Helper()
	var contexts []string
	for i := first; i < first+n; i++ {
		contexts = append(contexts, fmt.Sprintf(`{"contextSet": {"contexts": [{"type": "user", "values": {"key": "u-%d", "name": "Person u-%d.", "about": %q, "more": %q, "rest": %q}}]}}`,
			i, i, strings.Repeat("a", 400), strings.Repeat("b", 400), strings.Repeat("c", 400)))
	}
	body := fmt.Sprintf(`{"instanceHash": "budgets", "batchId": "%s-%d", "events": [{"exampleContexts": {"examples": [%s]}}]}`, b.size, first, strings.Join(contexts, ","))
	r := httptest.NewRequest("POST", "/api/v1/telemetry/", bytes.NewReader([]byte(body)))
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+b.sdk)))
	w := httptest.NewRecorder()
	b.instance().ServeHTTP(w, r)
	if w.Code != 202 {
		b.Fatalf("telemetry: %d %s", w.Code, w.Body)
	}
}

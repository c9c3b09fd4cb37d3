package apitest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
)

// counts: many reports of evaluations cost what one does, but once a minute; an item's
// counts are one query, and lists take a row more, once a minute.
func (b *budgets) counts() {
	b.Helper()
	api := b.instance()
	first := b.summarize(api, 1)
	if first["GetObject"] > 1 || first["Query"] > 1 || first["BatchGetItem"] != 3 || first["PutItem"] > 10 {
		b.Errorf("the first report of evaluations took %v; allowed are the workspace, two BatchGetItem more, and a row for each eighth of the items, for their last day and for the batch", first)
	}
	for i := range 3 {
		if asked, want := b.summarize(api, 2+i), map[string]int{"BatchGetItem": 2, "PutItem": 1}; !maps.Equal(asked, want) {
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

// summarize reports evaluations of ten flags, and returns what that took.
func (b *budgets) summarize(api http.Handler, number int) map[string]int {
	b.Helper()
	var summaries []string
	for i := range 10 {
		summaries = append(summaries, fmt.Sprintf(`{"key": "%s", "counters": [{"count": 3, "selectedValue": {"bool": false}}]}`, b.size.key(i)))
	}
	body := fmt.Sprintf(`{"instanceHash": "counts", "batchId": "%s-%d", "events": [{"summaries": {"summaries": [%s]}}]}`, b.size, number, strings.Join(summaries, ","))
	r := httptest.NewRequest("POST", "/api/v1/telemetry/", bytes.NewReader([]byte(body)))
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+b.sdk)))
	b.meter.Take()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	if w.Code != 202 {
		b.Fatalf("telemetry: %d %s", w.Code, w.Body)
	}
	return b.meter.Take().Requests()
}

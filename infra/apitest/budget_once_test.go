package apitest

import (
	"maps"
	"net/http"
)

// repeats: a write under an Idempotency-Key takes what any write does. One that has
// landed is answered again by its row, once the commit was found in the history.
func (b *budgets) repeats() {
	here, there := b.instance(), b.instance()
	b.asks(here, "GET", "/v1/flags", "")
	path, body := "/v1/flags/"+b.size.key(1)+"/environments/production", `{"enabled": true}`
	made, _, first := b.asksOnce(here, "PATCH", path, body, "once")
	made["PutObject"] = min(made["PutObject"], 2) // now and then there is a snapshot to put
	if want := (map[string]int{"BatchGetItem": 1, "PutObject": 2, "TransactWriteItems": 1}); !maps.Equal(made, want) {
		b.Errorf("a write under a key took %v; allowed are %v", made, want)
	}
	again := func(what string, api http.Handler, most map[string]int) {
		b.Helper()
		asked, _, answer := b.asksOnce(api, "PATCH", path, body, "once")
		if answer.Header().Get("Idempotency-Replayed") != "true" || answer.Body.String() != first.Body.String() {
			b.Errorf("%s, it is answered %s and not %s", what, answer.Body, first.Body)
		}
		for operation, n := range asked {
			if n > most[operation] {
				b.Errorf("%s, the answer again took %v; allowed are %v", what, asked, most)
				break
			}
		}
		b.Logf("%s, the answer again took %v", what, asked)
	}
	again("here", here, map[string]int{"BatchGetItem": 1, "Query": 1})
	again("on an instance that is new", there, map[string]int{"BatchGetItem": 1, "Query": 1})
	b.asks(here, "PATCH", path, `{"enabled": false}`)
	again("after another change", here, map[string]int{"BatchGetItem": 1, "Query": 1})
}

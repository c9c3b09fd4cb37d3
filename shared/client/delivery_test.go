package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/evaluation"
)

// TestMergingRule7BrowserClientsHaveOneGlobalContext: what the service
// evaluates for the context that a browser client was initialised with is what
// a client here evaluates with that context as the global one, and no other
// layer.
func TestMergingRule7BrowserClientsHaveOneGlobalContext(t *testing.T) {
	docs := []string{planFlag(), threeRules, switched("true")}
	var sources []evaluation.Source
	for _, text := range docs {
		from, skipped, err := decode([]byte(`{"configs":[` + text + `],"meta":{"environment":"development"}}`))
		if err != nil || len(skipped) > 0 {
			t.Fatal(err, skipped)
		}
		sources = append(sources, from.sources...)
	}
	table := delivery.NewTable(sources, "development", "v1")
	h := (&delivery.Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*delivery.Table, error) { return table, nil }, Now: time.Now}).Mux()
	for _, initial := range []map[string]map[string]any{
		{}, {"user": {"key": "u", "plan": "pro"}}, {"user": {"plan": "team", "orders": 200}}, {"device": {"os": "linux"}},
	} {
		text, _ := json.Marshal(initial)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v2/configs/eval-with-context/"+base64.RawURLEncoding.EncodeToString(text), nil))
		var answer struct {
			Evaluations map[string]struct {
				Value struct{ Value json.RawMessage }
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Evaluations) != len(docs) {
			t.Fatalf("%v: %s", err, w.Body)
		}
		c := open(t, Options{Datadir: datadirOf(t, docs...), Global: contexts.Of(initial)})
		for key, e := range answer.Evaluations {
			if got := c.AnyDetails(t.Context(), key, nil); fmt.Sprintf("%s", got.Value) != string(e.Value.Value) {
				t.Errorf("%s, %s: %s here, %s in a browser", text, key, got.Value, e.Value.Value)
			}
		}
	}
}

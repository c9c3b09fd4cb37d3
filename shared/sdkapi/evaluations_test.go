package sdkapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
)

func always(value string) string {
	return `{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}]}`
}

// evaluatedShop has a document of each kind that evaluations are counted of, or not.
var evaluatedShop = map[string]string{
	"svc.json":                    `{"environments":["production"]}`,
	"feature-flags/beta.json":     `{"key":"beta","type":"feature_flag","valueType":"bool","default":` + always(`{"type":"bool","value":true}`) + `}`,
	"feature-flags/tier.json":     `{"key":"tier","type":"feature_flag","valueType":"string","default":` + always(`{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"string","value":"gold"},"weight":1},{"value":{"type":"string","value":"silver"},"weight":1}]}}`) + `,"variants":[{"value":{"type":"string","value":"bronze"}}]}`,
	"feature-flags/json.json":     `{"key":"json","type":"feature_flag","valueType":"json","default":` + always(`{"type":"json","value":{"bool":true}}`) + `}`,
	"feature-flags/list.json":     `{"key":"list","type":"feature_flag","valueType":"string_list","default":` + always(`{"type":"string_list","value":["a","b"]}`) + `}`,
	"feature-flags/wait.json":     `{"key":"wait","type":"feature_flag","valueType":"duration","default":` + always(`{"type":"duration","value":"PT5M"}`) + `}`,
	"feature-flags/broken.json":   `{"key":"broken","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":7,"value":{"type":"bool","value":true}}]}}`,
	"configs/limit.json":          `{"key":"limit","type":"config","valueType":"int","sendToClientSdk":true,"default":` + always(`{"type":"int","value":"5"}`) + `}`,
	"configs/server.json":         `{"key":"server","type":"config","valueType":"double","default":` + always(`{"type":"double","value":1.50}`) + `}`,
	"configs/password.json":       `{"key":"password","type":"config","valueType":"string","default":` + always(`{"type":"string","value":"s3cret","confidential":true}`) + `,"environments":[{"id":"production","rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"open"}}]}],"variants":[{"value":{"type":"string","value":"s3cret"}},{"value":{"type":"string","value":"variant"}}]}`,
	"configs/sealed.json":         `{"key":"sealed","type":"config","valueType":"string","default":` + always(`{"type":"string","value":"0a1b2c","decryptWith":"password"}`) + `}`,
	"configs/provided.json":       `{"key":"provided","type":"config","valueType":"string","default":` + always(`{"type":"provided","value":{"source":"ENV_VAR","lookup":"HOME"}}`) + `}`,
	"log-levels/log-level.a.json": `{"key":"log-level.a","type":"log_level","valueType":"log_level","default":` + always(`{"type":"log_level","value":"INFO"}`) + `}`,
	"segments/staff.json":         `{"key":"staff","type":"segment","valueType":"bool","default":` + always(`{"type":"bool","value":true}`) + `}`,
}

// TestWhatIsCountedOfEvaluations: items that there are, and values that stand openly in
// them.
func TestWhatIsCountedOfEvaluations(t *testing.T) {
	w := newWorld(t, evaluatedShop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	number := 0
	for _, c := range []struct{ key, item, value, want string }{
		{public, "beta", `{"bool":true}`, "1 map[true:1]"},
		{public, "beta", `true`, "1 map[true:1]"},
		{public, "beta", `{"bool":"true"}`, "1 map[true:1]"},
		{public, "beta", `false`, "1 map[]"},
		{public, "beta", `null`, "1 map[]"},
		{public, "beta", `{"string":"true","x":1}`, "1 map[]"},
		{public, "beta", `{"other":true}`, "1 map[]"},
		{public, "tier", `{"string":"gold"}`, `1 map["gold":1]`},
		{public, "tier", `"silver"`, `1 map["silver":1]`},
		{public, "tier", `"bronze"`, `1 map["bronze":1]`},
		{public, "tier", `"made up"`, `1 map[]`},
		{public, "json", `{"bool":true}`, `1 map[{"bool":true}:1]`},
		{public, "json", `{"json":{"bool":true}}`, `1 map[{"bool":true}:1]`},
		{public, "json", `{"json":{"json":"{\"bool\": true}"}}`, `1 map[{"bool":true}:1]`},
		{public, "list", `["a","b"]`, `1 map[["a","b"]:1]`},
		{public, "list", `{"stringList":["a","b"]}`, `1 map[["a","b"]:1]`},
		{public, "list", `{"stringList":{"values":["a","b"]}}`, `1 map[["a","b"]:1]`},
		{public, "wait", `{"duration":{"definition":"PT5M"}}`, `1 map["PT5M":1]`},
		{public, "broken", `true`, `1 map[]`},
		{public, "limit", `{"int":5}`, `1 map[5:1]`},
		{public, "limit", `{"int":"5"}`, `1 map[5:1]`},
		{public, "limit", `5.0`, `1 map[5:1]`},
		{public, "server", `1.5`, ``}, // browsers are not sent it
		{secret, "server", `1.5`, `1 map[1.50:1]`},
		{secret, "password", `"s3cret"`, `1 map[]`},
		{secret, "password", `"variant"`, `1 map[]`},
		{secret, "password", `"open"`, `1 map["open":1]`},
		{secret, "sealed", `"what it opens to"`, `1 map[]`},
		{secret, "sealed", `"0a1b2c"`, `1 map[]`},
		{secret, "provided", `"/home/ada"`, `1 map[]`},
		{secret, "log-level.a", `"INFO"`, ``},
		{secret, "staff", `true`, ``},
		{secret, "nothing", `true`, ``},
		{secret, "../svc", `true`, ``},
	} {
		w.store = telemetrytest.NewStore(t)
		w.serve(sdkapi.Options{})
		number++
		item, err := json.Marshal(c.item)
		must.Do(t, err)
		body := fmt.Sprintf(`{"instanceHash":"i","batchId":"%d","events":[{"summaries":{"summaries":[{"key":%s,"counters":[{"count":1,"selectedValue":%s}]}]}}]}`, number, item, c.value)
		if answer := w.send("POST", posting, c.key, body); answer.Code != 202 || !strings.Contains(answer.Body.String(), `"counters":1`) {
			t.Fatalf("%s %s: %d %s", c.item, c.value, answer.Code, answer.Body)
		}
		found, err := w.store.Evaluations(ctx, string(w.id), c.item, "2000-01-01", "2100-01-01")
		must.Do(t, err)
		got := ""
		for _, d := range found["production"] {
			got = fmt.Sprint(d.Total, " ", d.Values)
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.item, c.value, got, c.want)
		}
	}
}

// TestARepositoryThatIsNotNeededIsNotRead: what tells of no evaluations takes what it
// took.
func TestARepositoryThatIsNotNeededIsNotRead(t *testing.T) {
	w := newWorld(t, evaluatedShop)
	public := w.key(access.KindPublicSDK, "production")
	if gate, storage := w.cost(func() { w.send("POST", posting, public, `{"events":[{"summaries":{"summaries":[]}}]}`) }); gate != 1 || storage != 0 {
		t.Errorf("without counters: %d reads of the key, %d of the repository", gate, storage)
	}
	if gate, storage := w.cost(func() {
		w.send("POST", posting, public, `{"events":[{"summaries":{"summaries":[{"key":"beta","counters":[{"count":1}]},{"key":"tier","counters":[{"count":1}]}]}}]}`)
	}); gate != 1 || storage != 1 {
		t.Errorf("with counters: %d reads of the key, %d of the repository", gate, storage)
	}
}

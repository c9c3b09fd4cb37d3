package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
)

var reported int

// evaluate records evaluations, some hours before now.
func (w *world) evaluate(environment, key, value string, hours int, count int64) {
	w.t.Helper()
	reported++
	at := w.clock.Add(-time.Duration(hours) * time.Hour)
	b := telemetry.Batch{Received: at, ID: sha256.Sum256(fmt.Append(nil, "evaluations", reported)),
		Evaluations: []telemetry.Evaluation{{Environment: environment, Key: key, Value: value, At: at, Count: count}}}
	_, err := w.seen.Record(context.Background(), string(workspaceID), b)
	must.Do(w.t, err)
	must.Do(w.t, w.seen.Flush(context.Background()))
}

func TestEvaluations(t *testing.T) {
	w := newWorld(t, shop())
	const flag, config = "/flags/checkout.redesign/evaluations", "/configs/checkout.timeout/evaluations"
	nothing := `map[development:map[days:[]] production:map[days:[]] staging:map[days:[]]]`
	if got := fmt.Sprint(w.get(flag).ok().at("/environments")); got != nothing {
		t.Errorf("at first: %s", got)
	}
	w.evaluate("production", "checkout.redesign", "true", 0, 3)
	w.evaluate("production", "checkout.redesign", "false", 0, 5)
	w.evaluate("production", "checkout.redesign", "", 1, 1)
	w.evaluate("production", "checkout.redesign", "true", 40*24, 7)
	w.evaluate("production", "checkout.redesign", "true", 70*24, 9)
	w.evaluate("staging", "checkout.redesign", "true", 24, 2)
	w.evaluate("production", "checkout.timeout", "5", 24, 4)
	w.evaluate("elsewhere", "checkout.timeout", "5", 24, 4)
	today := `map[day:2026-03-02 total:9 values:[map[count:5 value:false] map[count:3 value:true]]]`
	for _, c := range []struct{ path, pointer, want string }{
		{flag, "/environments/production", `map[days:[` + today + `] lastEvaluatedAt:2026-03-02T09:30:00Z]`},
		{flag, "/environments/staging", `map[days:[map[day:2026-03-01 total:2 values:[map[count:2 value:true]]]] lastEvaluatedAt:2026-03-01T09:30:00Z]`},
		{flag, "/environments/development", `map[days:[]]`},
		{flag, "/environments/elsewhere", `<nil>`},
		{flag + "?days=60", "/environments/production/days", `[` + today + ` map[day:2026-01-21 total:7 values:[map[count:7 value:true]]]]`},
		{flag + "?days=1&environment=staging", "/environments", `map[staging:map[days:[] lastEvaluatedAt:2026-03-01T09:30:00Z]]`},
		{config, "/environments/production/days/0/values", `[map[count:4 value:5]]`},
	} {
		if got := fmt.Sprint(w.get(c.path).ok().at(c.pointer)); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.path, c.pointer, got, c.want)
		}
	}
	for path, want := range map[string]int{flag + "?days=0": 400, flag + "?days=61": 400, flag + "?days=many": 400, flag + "?environment=prod": 404,
		"/flags/checkout.timeout/evaluations": 404, "/configs/nothing/evaluations": 404, flag + "?unknown=1": 200} {
		if a := w.get(path); a.status != want {
			t.Errorf("%s: %d, want %d: %s", path, a.status, want, a.body)
		}
	}
	// A flag that is gone has none; one that is back has its own.
	w.do("DELETE", "/flags/checkout.redesign", "").ok()
	if a := w.get(flag); a.status != 404 {
		t.Errorf("of a flag that is gone: %d", a.status)
	}
	w.do("POST", "/flags", `{"key": "checkout.redesign"}`).ok()
	if got := fmt.Sprint(w.get(flag).ok().at("/environments/staging/days/0/total")); got != "2" {
		t.Errorf("of a flag that is back: %s", got)
	}
}

// TestASecretIsNoCountedValue, though it was none when it was counted.
func TestASecretIsNoCountedValue(t *testing.T) {
	files := shop()
	files["configs/pin.json"] = `{"key":"pin","type":"config","valueType":"int","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"4711","confidential":true}}]}}`
	w := newWorld(t, files)
	w.evaluate("production", "pin", "4711", 0, 3)
	w.evaluate("production", "pin", "7", 0, 1)
	if got := fmt.Sprint(w.get("/configs/pin/evaluations").ok().at("/environments/production/days/0")); got != `map[day:2026-03-02 total:4 values:[map[count:1 value:7]]]` {
		t.Errorf("%s", got)
	}
}

// TestListsTellWhenItemsWereEvaluated, by the day: what is counted on the same day again
// leaves an answer as it was, kept or with the client.
func TestListsTellWhenItemsWereEvaluated(t *testing.T) {
	w := newWorld(t, shop())
	at := func(list string) string {
		a := w.get("/" + list).ok()
		return fmt.Sprint(a.at("/"+list+"/0/key"), " ", a.at("/"+list+"/0/lastEvaluatedAt"), " ", a.at("/evaluationsSince"))
	}
	flag, config := fmt.Sprint(w.get("/flags").at("/flags/0/key")), fmt.Sprint(w.get("/configs").at("/configs/0/key"))
	if got := at("flags"); got != flag+" <nil> <nil>" {
		t.Errorf("at first: %s", got)
	}
	w.evaluate("production", flag, "true", 30, 1)
	w.evaluate("staging", config, "", 60, 1)
	if got := at("flags"); got != flag+" 2026-03-01T00:00:00Z 2026-02-27" {
		t.Errorf("flags: %s", got)
	}
	if got := at("configs"); got != config+" 2026-02-27T00:00:00Z 2026-02-27" {
		t.Errorf("configs: %s", got)
	}
	status := fmt.Sprint(w.get("/flags").at("/flags/0/environmentStatuses"))
	tag := w.get("/flags").header.Get("ETag")
	w.evaluate("production", flag, "true", 29, 100)
	if again := w.get("/flags").header.Get("ETag"); again != tag {
		t.Error("the list changes with every report")
	}
	w.evaluate("production", flag, "true", 0, 1)
	if got := at("flags"); got != flag+" 2026-03-02T00:00:00Z 2026-02-27" {
		t.Errorf("another day: %s", got)
	}
	if again := fmt.Sprint(w.get("/flags").at("/flags/0/environmentStatuses")); again != status {
		t.Errorf("a status was %s and is %s", status, again)
	}
	if a := w.get("/flags?limit=1").ok(); fmt.Sprint(a.at("/flags/0/lastEvaluatedAt")) != "2026-03-02T00:00:00Z" {
		t.Errorf("a page: %s", a.body)
	}
}

// TestListsDoWithoutTelemetry where its file cannot be read.
func TestListsDoWithoutTelemetry(t *testing.T) {
	w := newWorld(t, shop())
	path := t.TempDir() + "/svc.db"
	must.Do(w.t, os.WriteFile(path, []byte("no database at all, and long enough to be looked at"), 0o600))
	*w.seen = *rows.New(bolt.New(database.New(path)), 0)
	a := w.get("/flags").ok()
	if a.at("/evaluationsSince") != nil || a.at("/flags/0/key") == nil {
		t.Errorf("%s", a.body)
	}
	if a := w.get("/flags/checkout.redesign/evaluations"); a.status != 500 {
		t.Errorf("the counts themselves: %d", a.status)
	}
}

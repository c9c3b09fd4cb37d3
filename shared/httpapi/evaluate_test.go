package httpapi_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/database"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
)

func TestEvaluate(t *testing.T) {
	w := newWorld(t, shop())
	first := w.get("/workspace").ok().text("/commitSha")
	w.do("PATCH", "/flags/checkout.redesign/environments/staging", `{"enabled": true}`).ok()
	head := w.get("/workspace").ok().text("/commitSha")
	replaced := strings.NewReplacer("$first", first, "$short", first[:7], "$head", head)
	for _, d := range requests(t, "evaluations.txt") {
		pointer, want, _ := strings.Cut(replaced.Replace(d.want), " ")
		if got := fmt.Sprint(w.do(d.method, d.path, replaced.Replace(d.body)).ok().at(pointer)); got != want {
			t.Errorf("%s: %s is %s, want %s", d.body, pointer, got, want)
		}
	}
	if now := w.get("/workspace").ok().text("/commitSha"); now != head {
		t.Errorf("evaluating has moved the head to %s", now)
	}
	w.alter = func(e *control.Entry) error { // it is a read, which needs no role and no subscription
		e.Workspace.BillingInactive, e.Principal.Roles = true, nil
		return nil
	}
	w.do("POST", "/evaluate?nonsense=1", `{"environment": "staging"}`).ok()
}

// TestEvaluateIsBounded: what is large is compressed where that is asked for, and
// refused where it cannot be sent.
func TestEvaluateIsBounded(t *testing.T) {
	files := map[string]string{"svc.json": declaration}
	words := `"` + strings.Repeat("word ", 2000) + `"`
	for i := range 30 {
		key := fmt.Sprintf("f%02d", i)
		rules := `{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.bio", "valueToMatch": {"type": "string_list", "value": [` + strings.Repeat(words+",", 10) + words + `]}}], "value": {"type": "string", "value": ` + words + `}}`
		files["feature-flags/"+key+".json"] = `{"key": "` + key + `", "type": "feature_flag", "valueType": "string", "default": {"rules": [` + rules +
			`, {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": ` + words + `}}]}}`
	}
	w := newWorldWith(t, files, httpapi.Options{Limit: unlimited, MaxAnswer: 50_000})
	body := `{"environment": "staging", "explain": true, "context": {"user": {"bio": ` + words + `}}}`
	if a := w.do("POST", "/evaluate", body); a.refused() != "400 BAD_REQUEST" || !strings.Contains(a.text("/message"), "accept gzip in Accept-Encoding, or name fewer keys") {
		t.Errorf("%d %.200s", a.status, a.body)
	}
	a := w.do("POST", "/evaluate", body, "Accept-Encoding: gzip").ok()
	if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("ETag") != "" || a.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v", a.header)
	}
	criterion := "/evaluations/f00/explanation/0/criteria/0/"
	if actual := a.text(criterion + "actual"); a.at(criterion+"truncated") != true || len(actual) > 1024 || !strings.HasPrefix(actual, "word word") {
		t.Errorf("a long property is told as %q", actual)
	}
	if a := w.do("POST", "/evaluate", `{"environment": "staging", "context": {"user": {"bio": "`+strings.Repeat("x", 1<<20)+`"}}}`); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a context of a megabyte: %d", a.status)
	}
}

var reported int

// evaluate records evaluations, some hours before now.
func (w *world) evaluate(environment, key, value string, hours int, count int64) {
	w.t.Helper()
	reported++
	at := w.clock.Add(-time.Duration(hours) * time.Hour)
	b := telemetry.Batch{Received: at, ID: sha256.Sum256(fmt.Append(nil, "evaluations", reported)),
		Evaluations: []telemetry.Evaluation{{Environment: environment, Key: key, Value: value, At: at, Count: count}}}
	must.Get(w.seen.Record(context.Background(), string(workspaceID), b))(w.t)
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
	if a := w.get("/flags").ok(); a.at("/evaluationsSince") != nil || a.at("/flags/0/key") == nil {
		t.Errorf("%s", a.body)
	}
	if a := w.get("/flags/checkout.redesign/evaluations"); a.status != 500 {
		t.Errorf("the counts themselves: %d", a.status)
	}
}

// see saves contexts: each has a key, a plan and a name.
func (w *world) see(environment string, n int) {
	w.t.Helper()
	b := telemetry.Batch{Received: w.clock, ID: [32]byte{byte(len(environment)), byte(n)}}
	for i := range n {
		plan, key := "free", fmt.Sprintf("u-%02d", i)
		if i%4 == 0 {
			plan = "pro"
		}
		property := func(name, text string) telemetry.Property {
			return telemetry.Property{Name: name, Kind: telemetry.String, Text: text}
		}
		b.Contexts = append(b.Contexts, telemetry.Saved{Environment: environment, Type: "user", Key: key, LastSeen: w.clock.Add(time.Duration(i) * time.Millisecond),
			Properties: []telemetry.Property{property("name", "Person "+key), property("key", key), property("plan", plan), {Name: "age", Kind: telemetry.Int, Text: "42"}, {Name: "tags", Kind: telemetry.StringList, List: []string{"a"}}}})
	}
	must.Get(w.seen.Record(context.Background(), string(workspaceID), b))(w.t)
}

const tiers = `{"key":"tiers","type":"feature_flag","valueType":"string","default":{"rules":[` +
	`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"paying"}}],"value":{"type":"string","value":"gold"}},` +
	`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"silver"}}]}}`

func paying(plan string) string {
	return `{"key":"paying","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["` + plan + `"]}}],"value":{"type":"bool","value":true}}]}}`
}

func TestImpact(t *testing.T) {
	files := shop()
	files["feature-flags/tiers.json"], files["segments/paying.json"] = tiers, paying("pro")
	w := newWorld(t, files)
	w.see("production", 8)
	w.see("staging", 3)
	head := w.get("/activity?limit=1").ok().text("/activity/0/sha")
	for _, c := range []struct{ name, method, path, body, pointer, want string }{
		{"one environment", "PATCH", "/flags/tiers/environments/production", `{"value": "bronze"}`, "/impact",
			`map[production:map[changed:6 complete:true contexts:8 examples:`},
		{"a segment", "PUT", "/segments/paying/document", `{"document": ` + paying("free") + `, "expectedCommitSha": "` + head + `"}`, "/impact/production/values",
			`[map[after:gold before:silver count:6 key:tiers] map[after:silver before:gold count:2 key:tiers]]`},
		{"an example", "PUT", "/segments/paying/document", `{"document": ` + paying("free") + `, "expectedCommitSha": "` + head + `"}`, "/impact/staging/examples/2",
			`map[after:silver before:gold contextKey:u-00 key:tiers name:Person u-00 type:user]`},
		{"a deletion", "DELETE", "/flags/tiers", "", "/impact/production/values/0", `map[after:<nil> before:silver count:6 key:tiers]`},
		{"a creation", "POST", "/flags", `{"key": "new"}`, "/impact/production/values", `[map[after:false before:<nil> count:8 key:new]]`},
		{"a schema", "PUT", "/schemas/other/document", `{"document": {"type": "object"}}`, "/impact", `map[]`},
		{"a secret of one environment", "PATCH", "/configs/api.token/environments/production", `{"value": "n3w"}`, "/impact", `map[production:map[`},
		{"a secret", "PATCH", "/configs/master.key/environments/production", `{"value": "n3w"}`, "/impact/production/values", `[map[after:n3w confidential:true count:8 key:master.key]]`},
	} {
		a := w.do(c.method, c.path+"?dryRun=true&impact=true", c.body).ok()
		if got := fmt.Sprint(a.at(c.pointer)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s\n%s", c.name, got, c.want, a.body)
		}
	}
	if a := w.do("PATCH", "/flags/tiers/environments/production?dryRun=true", `{"value": "bronze"}`).ok(); a.at("/impact") != nil {
		t.Errorf("impact that nobody asked for: %s", a.body)
	}
}

// TestContextsAreExportedAndForgotten: pages hold all, and who is forgotten is in
// none, nor in what the log says.
func TestContextsAreExportedAndForgotten(t *testing.T) {
	w := newWorld(t, shop())
	w.see("production", 7)
	w.see("staging", 2)
	export := func() (keys []string) {
		t.Helper()
		for next := ""; ; {
			a := w.get("/contexts/export?environment=production&limit=3" + next).ok()
			list := a.at("/contexts").([]any)
			for i := range list {
				keys = append(keys, a.text(fmt.Sprintf("/contexts/%d/key", i)))
			}
			if a.at("/nextCursor") == nil {
				return keys
			}
			next = "&cursor=" + a.text("/nextCursor")
		}
	}
	if got := strings.Join(export(), " "); got != "u-06 u-05 u-04 u-03 u-02 u-01 u-00" {
		t.Errorf("exported are %s", got)
	}
	one := w.get("/contexts/export?environment=production").ok()
	if got := fmt.Sprint(one.at("/contexts/6/context")); got != "map[user:map[age:42 key:u-00 name:Person u-00 plan:pro tags:[a]]]" {
		t.Error(got)
	}
	found := w.get("/contexts?environment=production&query=u-00&properties=true").ok()
	if got, want := fmt.Sprint(found.at("/contexts/0/context")), fmt.Sprint(one.at("/contexts/6/context")); got != want {
		t.Errorf("found with %s, exported with %s", got, want)
	}
	if got := w.get("/contexts?query=u-00").ok().at("/contexts/0/context"); got != nil {
		t.Errorf("properties that nobody asked for: %v", got)
	}
	cursor := w.get("/contexts/export?environment=staging&limit=1").ok().text("/nextCursor")
	if got := w.get("/contexts/export?environment=production&cursor=" + cursor).refused(); got != "400 BAD_REQUEST" {
		t.Errorf("another environment's cursor: %s", got)
	}
	w.do("DELETE", "/contexts/user/u-03", "").ok()
	w.do("DELETE", "/contexts/-/-?type=user&key="+url.QueryEscape("u-01"), "").ok()
	if got := w.do("DELETE", "/contexts/user/u-03", "").refused(); got != "404 NOT_FOUND" {
		t.Errorf("forgotten twice: %s", got)
	}
	if got := strings.Join(export(), " "); got != "u-06 u-05 u-04 u-02 u-00" {
		t.Errorf("exported are %s", got)
	}
	if got := fmt.Sprint(w.get("/contexts?environment=staging").ok().at("/contexts/1")); got != "<nil>" {
		t.Errorf("staging still has %s", got)
	}
	if log := w.log.String(); !strings.Contains(log, "a saved context was deleted") || strings.Contains(log, "u-03") {
		t.Errorf("the log says %s", log)
	}
}

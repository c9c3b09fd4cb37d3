package httpapi_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

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
	_, err := w.seen.Record(context.Background(), string(workspaceID), b)
	must.Do(w.t, err)
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

package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestListsKnowWhatHasCome, at the same head, also where their answers are kept.
func TestListsKnowWhatHasCome(t *testing.T) {
	w := newWorld(t, shop())
	for path, value := range map[string]string{"/flags/colour/environments/staging": `"red"`, "/configs/checkout.timeout/environments/staging": `"PT9S"`} {
		at := w.clock.Add(time.Hour).Format(time.RFC3339)
		w.do("PATCH", path, fmt.Sprintf(`{"value": %s, "at": %q}`, value, at)).ok()
	}
	told := func(list string) string {
		t.Helper()
		first := w.get(list).ok()
		if again := w.get(list, "If-None-Match: "+first.header.Get("ETag")); again.status != 304 {
			t.Errorf("%s again: %d", list, again.status)
		}
		for i := range first.at(list).([]any) {
			if row := fmt.Sprintf("%s/%d", list, i); first.text(row+"/key") == "colour" || first.text(row+"/key") == "checkout.timeout" {
				return fmt.Sprint(first.at(row + "/serves/staging/value"))
			}
		}
		return ""
	}
	flag, config := told("/flags"), told("/configs")
	if w.clock = w.clock.Add(time.Hour); told("/flags") != flag || told("/configs") != config {
		t.Error("at its moment, of which it is one later, lists say something else")
	}
	w.clock = w.clock.Add(time.Second)
	if f, c := told("/flags"), told("/configs"); f != "red" || c == config || flag == f {
		t.Errorf("once it has come, lists say %s and %s, before %s and %s", f, c, flag, config)
	}
}

// TestPausesAndPlans goes through what a client of the API does with them, and compares
// what is explained with what is told.
func TestPausesAndPlans(t *testing.T) {
	w := newWorld(t, shop())
	const production = "/flags/checkout.redesign/environments/production"
	explained := func() string {
		t.Helper()
		a := w.do("POST", "/evaluate", `{"environment": "production", "keys": ["checkout.redesign"], "explain": true, "context": {"user": {"key": "u"}}}`).ok()
		rules := a.at("/evaluations/checkout.redesign/explanation").([]any)
		last := rules[len(rules)-1].(map[string]any)
		return fmt.Sprint(a.at("/evaluations/checkout.redesign/value"), " ", last["paused"], " ", last["scheduled"])
	}
	before := string(w.get("/flags/checkout.redesign/document").ok().body)
	w.do("POST", production+"/pause", `{}`).ok()
	if got := explained(); got != "false true <nil>" {
		t.Errorf("paused it is %s", got)
	}
	if a := w.do("PATCH", production, `{"enabled": true}`).ok(); a.text("/warnings/0/code") != "paused" {
		t.Errorf("%s", a.body)
	}
	w.do("PATCH", production, `{"enabled": false}`).ok()
	w.do("POST", "/changes", `{"operations": [{"op": "resume", "environment": "production", "keys": ["checkout.redesign"]}, {"op": "pause", "environment": "staging", "keys": ["checkout.redesign", "colour"], "serve": "red"}]}`)
	w.do("POST", production+"/resume", `{}`).ok()
	if rest := string(w.get("/flags/checkout.redesign/document").ok().body); before == rest {
		t.Errorf("nothing was patched: %s", rest)
	}
	first := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	plan := fmt.Sprintf(`{"rolloutPlan": {"value": true, "from": false, "steps": [{"percent": 5}, {"at": %q, "percent": 50}, {"at": %q, "percent": 100}]}}`,
		first.Format(time.RFC3339), first.Add(time.Hour).Format(time.RFC3339))
	dry := w.do("PATCH", production+"?dryRun=true", plan).ok()
	if got := fmt.Sprint(dry.at("/messages/0/message")); !strings.HasPrefix(got, "production: ") || dry.at("/document") == nil {
		t.Errorf("a dry run says %s", dry.body)
	}
	w.do("PATCH", production, plan).ok()
	detail := w.get("/flags/checkout.redesign").ok()
	var told []string
	for i := range detail.at("/environments").([]any) {
		if at := fmt.Sprintf("/environments/%d", i); detail.text(at+"/id") == "production" {
			told = append(told, fmt.Sprint(detail.at(at+"/rolloutPlan/percent"), detail.at(at+"/rolloutPlan/next/percent"), len(detail.at(at+"/rolloutPlan/steps").([]any))))
		}
	}
	if got := strings.Join(told, ""); got != "5 50 2" || fmt.Sprint(detail.at("/scheduled")) != "[production]" {
		t.Errorf("the plan is %s: %s", got, detail.body)
	}
	if row := w.get("/flags").ok(); !strings.Contains(string(row.body), `"scheduled":["production"]`) {
		t.Errorf("%s", row.body)
	}
	w.do("PATCH", production, `{"rolloutPlan": {"do": "hold"}}`).ok()
	if held := w.get("/flags/checkout.redesign").ok(); !strings.Contains(string(held.body), `"held":{"since":`) {
		t.Errorf("held it is %s", held.body)
	}
	a := w.do("PATCH", production, `{"rolloutPlan": {"steps": [{"at": "2025-01-01T00:00:00Z", "percent": 101}], "x": 1}, "at": "2036-01-01T00:00:00Z"}`)
	if got := a.refused(); got != "400 BAD_REQUEST" || !strings.Contains(string(a.body), "/rolloutPlan/steps/0/percent") || !strings.Contains(string(a.body), "/rolloutPlan/x") || !strings.Contains(string(a.body), `"/at"`) {
		t.Errorf("%s: %s", got, a.body)
	}
	a = w.do("PATCH", "/flags/colour/environments/production", `{"value": "red", "at": "yesterday"}`)
	if got := a.refused(); got != "400 BAD_REQUEST" || !strings.Contains(string(a.body), "a zone, such as") {
		t.Errorf("%s: %s", got, a.body)
	}
	if a := w.do("POST", "/changes", `{"operations": [{"op": "fold"}]}`).ok(); fmt.Sprint(a.at("/changed")) != "false" {
		t.Errorf("%s", a.body)
	}
}

// TestTimedExplanationsAreWhatIsServed: of what is paused, scheduled and planned too.
func TestTimedExplanationsAreWhatIsServed(t *testing.T) {
	w := newWorld(t, shop())
	const production = "/flags/checkout.redesign/environments/production"
	rapid.Check(t, func(r *rapid.T) {
		method, path, body := "PATCH", production, rapid.SampledFrom([]string{
			`{"enabled": true}`, `{"enabled": false}`, `{"enabled": true, "at": "2036-01-01T00:00:00Z"}`, `{"unschedule": "2036-01-01T00:00:00Z"}`, `{"enabled": false, "replaceTargeting": true, "at": "2037-01-01T00:00:00Z"}`,
			`{"rolloutPlan": {"value": true, "from": false, "steps": [{"percent": 30}, {"at": "2036-01-01T00:00:00Z", "percent": 50}]}}`, `{"rolloutPlan": {"do": "hold"}}`, `{"rolloutPlan": {"do": "back"}}`, `{"rolloutPlan": {"do": "resume"}}`}).Draw(r, "patch")
		if verb := rapid.SampledFrom([]string{"", "", "", "/pause", "/resume"}).Draw(r, "verb"); verb != "" {
			method, path, body = "POST", production+verb, `{}`
		}
		if a := w.do(method, path, body); a.status != 200 && a.status != 400 {
			r.Fatalf("%s %s: %s", path, body, a.body)
		}
		a := w.do("POST", "/evaluate", fmt.Sprintf(`{"environment": "production", "keys": ["checkout.redesign"], "explain": true, "context": {"user": {"key": "u%d"}}}`, rapid.IntRange(0, 99).Draw(r, "user"))).ok()
		const at = "/evaluations/checkout.redesign"
		rules := a.at(at + "/explanation").([]any)
		last := rules[len(rules)-1].(map[string]any)
		if fmt.Sprint(last["index"], last["ruleSource"], last["matched"]) != fmt.Sprint(a.at(at+"/ruleIndex"), a.at(at+"/ruleSource"), true) {
			r.Fatalf("%s", a.body)
		}
		if split, is := last["split"].(map[string]any); is {
			for i, arm := range split["arms"].([]any) {
				if one := arm.(map[string]any); one["chosen"].(bool) != (fmt.Sprint(a.at(at+"/weightedValueIndex")) == fmt.Sprint(i)) || one["chosen"].(bool) && fmt.Sprint(one["value"]) != fmt.Sprint(a.at(at+"/value")) {
					r.Fatalf("%s", a.body)
				}
			}
		}
	})
}

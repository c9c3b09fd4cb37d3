package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

const flagsPath = "/openfeature/v0/manifest/flags"

// flagJSON is a flag whose default rules are given.
func flagJSON(key, valueType string, rules ...string) string {
	return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": %q, "default": {"rules": [%s]}, "environments": [
		{"id": "staging", "rules": [%s]}]}`, key, valueType, strings.Join(rules, ", "), strings.Join(rules, ", "))
}

func rule(value string, criteria ...string) string {
	if len(criteria) == 0 {
		criteria = []string{`{"operator": "ALWAYS_TRUE"}`}
	}
	return `{"criteria": [` + strings.Join(criteria, ", ") + `], "value": ` + value + `}`
}

// inManifest finds a flag in the manifest, as its JSON.
func (w *world) inManifest(key string) string {
	w.t.Helper()
	body := strings.TrimSuffix(strings.TrimSpace(string(w.get("/openfeature/v0/manifest").ok().body)), "]}")
	_, rest, found := strings.Cut(body, `{"key":"`+key+`",`)
	if !found {
		return ""
	}
	rest, _, _ = strings.Cut(rest, `,{"key":`)
	return strings.TrimSuffix(rest, "}")
}

// TestTheManifest: what the default rules serve to the empty context, else a zero value.
func TestTheManifest(t *testing.T) {
	const inBeta = `{"operator": "IN_SEG", "valueToMatch": {"type": "string", "value": "beta-users"}}`
	const noBeta = `{"operator": "NOT_IN_SEG", "valueToMatch": {"type": "string", "value": "beta-users"}}`
	split := func(first, second int) string {
		return fmt.Sprintf(`{"type": "weighted_values", "value": {"weightedValues": [{"value": {"type": "int", "value": 1}, "weight": %d}, {"value": {"type": "int", "value": 2}, "weight": %d}]}}`, first, second)
	}
	before := `{"operator": "PROP_BEFORE", "propertyName": "svc.current-time", "valueToMatch": {"type": "string", "value": "2026-03-02T10:00:00Z"}}`
	cases := []struct{ key, valueType, rules, want string }{
		{"a-bool", "bool", rule(`{"type": "bool", "value": true}`), `"type":"boolean","defaultValue":true`},
		{"a-string", "string", rule(`{"type": "string", "value": "a < b"}`), `"type":"string","defaultValue":"a < b"`},
		{"a-duration", "duration", rule(`{"type": "duration", "value": "PT5S"}`), `"type":"string","defaultValue":"PT5S"`},
		{"an-int", "int", rule(`{"type": "int", "value": "9007199254740993"}`), `"type":"integer","defaultValue":9007199254740993`},
		{"an-int-as-1.0", "int", rule(`{"type": "int", "value": 1.0}`), `"type":"integer","defaultValue":1`},
		{"a-list", "string_list", rule(`{"type": "string_list", "value": ["a"]}`), `"type":"object","defaultValue":["a"]`},
		{"some-json", "json", rule(`{"type": "json", "value": {"b": 1, "a": [null]}}`), `"type":"object","defaultValue":{"b":1,"a":[null]}`},
		{"json-null", "json", rule(`{"type": "json", "value": null}`), `"type":"object","defaultValue":{}`},
		{"a-double", "double", rule(`{"type": "double", "value": 1.5}`), ``},
		{"another-double", "double", "", ``},
		{"no-bool", "bool", "", `"type":"boolean","defaultValue":false`},
		{"no-string", "string", "", `"type":"string","defaultValue":""`},
		{"no-duration", "duration", "", `"type":"string","defaultValue":"PT0S"`},
		{"no-int", "int", rule(`{"type": "int", "value": 3}`, inBeta), `"type":"integer","defaultValue":0`},
		{"no-list", "string_list", "", `"type":"object","defaultValue":[]`},
		{"no-json", "json", "", `"type":"object","defaultValue":{}`},
		{"not-beta", "int", rule(`{"type": "int", "value": 3}`, noBeta), `"type":"integer","defaultValue":3`},
		{"mostly-1", "int", rule(split(50_000, 50_000)), `"type":"integer","defaultValue":1`},
		{"mostly-2", "int", rule(split(49_999, 50_001)), `"type":"integer","defaultValue":2`},
		{"a-secret", "string", rule(`{"type": "string", "value": "hidden", "confidential": true}`), `"type":"string","defaultValue":""`},
		{"provided", "string", rule(`{"type": "provided", "value": {"source": "ENV_VAR", "lookup": "HOME"}}`), `"type":"string","defaultValue":""`},
		{"until-ten", "bool", rule(`{"type": "bool", "value": true}`, before), `"type":"boolean","defaultValue":true`},
	}
	files := map[string]string{"svc.json": declaration, "segments/beta-users.json": beta, "configs/checkout.timeout.json": timeout,
		"feature-flags/broken.json": `["no", "object"]`, "feature-flags/named.json": strings.Replace(flagJSON("named", "bool"), `"valueType"`, `"name": "Named", "description": "Has one", "valueType"`, 1)}
	for _, c := range cases {
		files["feature-flags/"+c.key+".json"] = flagJSON(c.key, c.valueType, strings.Split(c.rules, "\n")...)
		if c.rules == "" {
			files["feature-flags/"+c.key+".json"] = flagJSON(c.key, c.valueType)
		}
	}
	w := newWorld(t, files)
	for range 2 { // the second time of what was compiled
		for _, c := range cases {
			if got := w.inManifest(c.key); got != c.want {
				t.Errorf("%s: %s, want %s", c.key, got, c.want)
			}
		}
	}
	if got := w.inManifest("named"); got != `"name":"Named","type":"boolean","description":"Has one","defaultValue":false` {
		t.Errorf("a flag with a name: %s", got)
	}
	a := w.get("/openfeature/v0/manifest").ok()
	if got := a.header.Get("X-Manifest-Omitted"); got != "2" {
		t.Errorf("X-Manifest-Omitted: %s", got)
	}
	if again := w.get("/openfeature/v0/manifest", "If-None-Match: "+a.header.Get("ETag")); again.status != 304 {
		t.Errorf("the same manifest again: %d", again.status)
	}
	for _, c := range []struct{ role, want string }{{"member", "read"}, {"admin", "read"}, {"support_nonprotected", "read,write,delete"}, {"engineer", "read,write,delete"}} {
		key := w.newKey(access.KindUser, c.role)
		if got := w.get("/openfeature/v0/manifest", "Authorization: Bearer "+key).header.Get("X-Manifest-Capabilities"); got != c.want {
			t.Errorf("a %s may %s, want %s", c.role, got, c.want)
		}
	}
	w.clock = w.clock.Add(time.Hour)
	if got := w.inManifest("until-ten"); got != `"type":"boolean","defaultValue":false` {
		t.Errorf("after ten: %s", got)
	}
}

// TestManifestWrites: each is one commit, and changes what it names.
func TestManifestWrites(t *testing.T) {
	w := newWorld(t, shop())
	for _, c := range []struct{ kind, value, stored string }{
		{"boolean", "true", "bool true"},
		{"boolean", "false", "bool false"},
		{"string", `"blue"`, "string blue"},
		{"integer", "9007199254740993", "int 9.007199254740992e+15"},
		{"object", `{"a":{"b":[1,"x",null]}}`, "json map[a:map[b:[1 x <nil>]]]"},
		{"object", `["a"]`, "json [a]"},
	} {
		before := w.commits()
		body := fmt.Sprintf(`{"key": "made", "type": %q, "name": "Made", "description": "By hand", "defaultValue": %s}`, c.kind, c.value)
		made := w.do("POST", flagsPath, body)
		want := fmt.Sprintf(`{"flag":{"key":"made","name":"Made","type":%q,"description":"By hand","defaultValue":%s},"updatedAt":"2026-03-02T09:30:00Z"}`, c.kind, c.value)
		if made.status != 201 || strings.TrimSpace(string(made.body)) != want || w.commits() != before+1 || made.header.Get("X-Manifest-Capabilities") != "read,write,delete" {
			t.Errorf("POST %s: %d %s, want %s", body, made.status, made.body, want)
		}
		if got := w.inManifest("made"); !strings.HasSuffix(got, `"defaultValue":`+c.value) {
			t.Errorf("in the manifest then: %s", got)
		}
		flag := w.get("/flags/made").ok()
		if got := fmt.Sprint(flag.at("/valueType"), " ", flag.at("/default/rules/0/value/value")); got != c.stored || flag.at("/default/rules/1") != nil || flag.at("/environments/0") != nil {
			t.Errorf("POST %s stored %s, want %s", body, got, c.stored)
		}
		deleted := w.do("DELETE", flagsPath+"/made", "").ok()
		if !strings.Contains(deleted.text("/message"), "revert") || deleted.text("/archivedAt") == "" || w.get("/flags/made").status != 404 {
			t.Errorf("DELETE: %s", deleted.body)
		}
	}

	files := shop()
	files["feature-flags/lists.json"] = flagJSON("lists", "string_list", rule(`{"type": "string_list", "value": ["a"]}`))
	files["feature-flags/wait.json"] = flagJSON("wait", "duration", rule(`{"type": "duration", "value": "PT1S"}`, `{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["pro"]}}`), rule(`{"type": "duration", "value": "PT5S"}`))
	w = newWorld(t, files)
	at := func(path string) func() string { return func() string { return string(w.get(path).ok().body) } }
	for _, c := range []struct {
		name, key, body string
		changed         bool
		want            string // in the document
		answer          string // in the answer
	}{
		{"the same default value leaves a split alone", "colour", `{"key": "colour", "type": "string", "defaultValue": "blue"}`, false, `"weightedValues"`, `"defaultValue":"blue"`},
		{"a description is all that changes", "colour", `{"key": "colour", "type": "string", "description": "Of the shop", "defaultValue": "blue"}`, true, `"weightedValues"`, `"description":"Of the shop"`},
		{"left out, a description goes", "colour", `{"key": "colour", "type": "string"}`, true, `"weightedValues"`, `{"key":"colour","type":"string","defaultValue":"blue"}`},
		{"another default value takes the place of a split", "colour", `{"key": "colour", "type": "string", "defaultValue": "green"}`, true, `"value":{"type":"string","value":"green"}`, `"defaultValue":"green"`},
		{"left out, a name stays", "checkout.redesign", `{"key": "checkout.redesign", "type": "boolean", "defaultValue": true}`, true, `"name":"Redesign"`, `"name":"Redesign"`},
		{"environments keep their rules", "checkout.redesign", `{"key": "checkout.redesign", "type": "boolean", "defaultValue": false}`, true, `"propertyName":"user.plan"`, `"defaultValue":false`},
		{"an empty name goes", "checkout.redesign", `{"key": "checkout.redesign", "type": "boolean", "name": "", "description": null}`, true, `"tags"`, `{"key":"checkout.redesign","type":"boolean","defaultValue":false}`},
		{"a list", "lists", `{"key": "lists", "type": "object", "defaultValue": ["a", "b"]}`, true, `["a","b"]`, `"defaultValue":["a","b"]`},
		{"a duration, whose targeting rule stays", "wait", `{"key": "wait", "type": "string", "defaultValue": "PT9S"}`, true, `"value":"PT1S"`, `"defaultValue":"PT9S"`},
	} {
		before, document := w.commits(), at("/flags/"+c.key+"/document")
		answer := w.do("PUT", flagsPath+"/"+c.key, c.body)
		if answer.status != 200 || !strings.Contains(string(answer.body), c.answer) || answer.text("/updatedAt") == "" {
			t.Errorf("%s: %d %s, want %s", c.name, answer.status, answer.body, c.answer)
		}
		if got := document(); w.commits()-before != map[bool]int64{true: 1}[c.changed] || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d commits, %s", c.name, w.commits()-before, got)
		}
		if again := w.do("PUT", flagsPath+"/"+c.key, c.body); again.status != 200 || w.commits()-before > 1 || string(again.body) != string(answer.body) {
			t.Errorf("%s, again: %d %s", c.name, again.status, again.body)
		}
	}
}

// TestManifestRefusals are worded as the CLI's API has it, whoever refuses.
func TestManifestRefusals(t *testing.T) {
	files := shop()
	files["feature-flags/ratio.json"] = flagJSON("ratio", "double", rule(`{"type": "double", "value": 1.5}`))
	files["feature-flags/secret.json"] = flagJSON("secret", "string", rule(`{"type": "string", "value": "hidden", "confidential": true}`))
	files["feature-flags/guarded.json"] = strings.Replace(redesign, `"checkout.redesign", `, `"guarded", "access": "protected-all-envs", `, 1)
	w := newWorld(t, files)
	for _, d := range requests(t, "manifest_refusals.txt") {
		before := w.commits()
		a := w.sends(d, "")
		var details []string
		for i := 0; a.at(fmt.Sprintf("/error/details/%d", i)) != nil; i++ {
			line := a.text(fmt.Sprintf("/error/details/%d/field", i))
			if code := a.text(fmt.Sprintf("/error/details/%d/code", i)); code != "" {
				line += " " + code
			}
			details = append(details, line)
		}
		want, words, _ := strings.Cut(strings.TrimSuffix(d.want, ")"), " (")
		if got := strings.TrimSpace(fmt.Sprint(a.status, " ", strings.TrimSpace(strings.Join(details, " ")))); got != want || a.at("/error/status") != float64(a.status) ||
			!strings.Contains(a.text("/error/message"), words) || a.text("/error/message") == "" {
			t.Errorf("%s %s %s: %s, want %s\n%s", d.method, d.path, d.body, got, d.want, a.body)
		}
		if w.commits() != before {
			t.Errorf("%s %s %s: it made a commit", d.method, d.path, d.body)
		}
	}
	w.alter = func(*control.Entry) error { panic("the disk is on fire") }
	if a := w.get("/openfeature/v0/manifest"); a.status != 500 || strings.Contains(string(a.body), "fire") || a.text("/error/details/0/code") != "INTERNAL" {
		t.Errorf("an accident: %d %s", a.status, a.body)
	}
}

// TestTheCLIWaitsForItsTurn: it sends one request after the other, and a 429 would end
// it.
func TestTheCLIWaitsForItsTurn(t *testing.T) {
	testenv.Slow(t)
	w := newWorld(t, shop())
	w.handler = must.Get(httpapi.New(httpapi.Options{Service: w.service, Limit: ratelimit.Rate{PerSecond: 5, Burst: 5}}, httpapi.All()...))(w.t)
	for i := range 12 {
		if a := w.get("/openfeature/v0/manifest"); a.status != 200 {
			t.Fatalf("request %d: %d %s", i, a.status, a.body)
		}
	}
	statuses := map[int]int{}
	for range 12 {
		statuses[w.get("/whoami").status]++
	}
	if statuses[429] == 0 {
		t.Errorf("the others are answered %v", statuses)
	}
	// A crowd does not wait: it is more than any CLI sends.
	w.handler = must.Get(httpapi.New(httpapi.Options{Service: w.service, Limit: ratelimit.Rate{PerSecond: 1, Burst: 1}}, httpapi.All()...))(w.t)
	w.get("/openfeature/v0/manifest").ok()
	answers := make(chan int)
	for range 40 {
		go func() { answers <- w.get("/openfeature/v0/manifest").status }()
	}
	statuses = map[int]int{}
	for range 40 {
		statuses[<-answers]++
	}
	if statuses[429] < 40-16 || statuses[200]+statuses[429] != 40 {
		t.Errorf("a crowd is answered %v", statuses)
	}
}

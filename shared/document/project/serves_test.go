package project

import (
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/documents"
)

func TestServesOne(t *testing.T) {
	const (
		all    = `"criteria":[{"operator":"ALWAYS_TRUE"}]`
		some   = `"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}]`
		on     = `"value":{"type":"int","value":1}`
		secret = `"value":{"type":"int","value":1,"confidential":true}`
		text   = `"value":{"type":"int","value":"1"}`
		off    = `"value":{"type":"int","value":0}`
		split  = `"value":{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"int","value":1},"weight":W},{"value":{"type":"int","value":0},"weight":50000}]}}`
	)
	whole, half := strings.ReplaceAll(strings.Replace(split, "W", "7", 1), "50000", "0"), strings.Replace(split, "W", "50000", 1)
	for _, c := range []struct {
		name, rules, production string // production "": no rules of its own
		want                    string
	}{
		{"one rule for all", `{` + all + `,` + on + `}`, "", "1"},
		{"written in two ways", `{` + some + `,` + on + `},{` + all + `,` + text + `}`, "", "1"},
		{"no rules", ``, "", ""},
		{"not for all", `{` + some + `,` + on + `}`, "", ""},
		{"two values", `{` + some + `,` + off + `},{` + all + `,` + on + `}`, "", ""},
		{"a rule that nobody reaches", `{` + all + `,` + on + `},{` + all + `,` + off + `}`, "", "1"},
		{"no criteria", `{"criteria":[],` + on + `},{` + all + `,` + off + `}`, "", "1"},
		{"a split", `{` + all + `,` + half + `}`, "", ""},
		{"a split that is over", `{` + all + `,` + whole + `}`, "", "1"},
		{"the same in production", `{` + all + `,` + on + `}`, `{` + all + `,` + on + `}`, "1"},
		{"another in production", `{` + all + `,` + on + `}`, `{` + all + `,` + off + `}`, ""},
		{"production goes on with the default rules", `{` + all + `,` + on + `}`, `{` + some + `,` + on + `}`, "1"},
		{"production has one more", `{` + all + `,` + on + `}`, `{` + some + `,` + off + `}`, ""},
		{"secrets may be others", `{` + all + `,` + secret + `}`, `{` + all + `,` + secret + `}`, ""},
		{"a secret for some may be another", `{` + some + `,` + secret + `},{` + all + `,` + secret + `}`, "", ""},
		{"one secret", `{` + all + `,` + secret + `}`, "", "secret"},
		{"production has no rules", `{` + all + `,` + on + `}`, ` `, "1"},
	} {
		own := ""
		if c.production != "" {
			own = `,"environments":[{"id":"production","rules":[` + c.production + `]}]`
		}
		tree := documents.Tree(t, `{"key":"a","type":"feature_flag","valueType":"int","default":{"rules":[`+c.rules+`]}`+own+`}`)
		value, one := ServingsOf(document.View(tree)).One([]document.Active{{Name: "production"}, {Name: "staging"}})
		got := ""
		if one && value.Confidential {
			got = "secret"
		} else if one {
			got = string(value.Value)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestServings(t *testing.T) {
	const all = `"criteria":[{"operator":"ALWAYS_TRUE"}]`
	rule := func(value string) string { return `{` + all + `,"value":` + value + `}` }
	text := func(value string) string { return `{"type":"string","value":"` + value + `"}` }
	arms := strings.Repeat(`{"value":`+text("a")+`,"weight":1},{"value":`+text("b")+`,"weight":2},`, 8)
	long := strings.Repeat("ä", 100)
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	due := func(day, kind, value string) string {
		return `{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"string","value":"2026-` + day + `T00:00:00Z"}}],"value":` + value + `,"scheduled":"` + kind + `"}`
	}
	half := `{"type":"weighted_values","value":{"weightedValues":[{"value":` + text("b") + `,"weight":50000},{"value":` + text("a") + `,"weight":50000}]}}`
	for _, c := range []struct{ name, rules, want string }{
		{"nothing", ``, `{}`},
		{"a value", rule(text("a")), `{"value":"a"}`},
		{"empty text", rule(text("")), `{"value":""}`},
		{"null", rule(`{"type":"json","value":null}`), `{"value":null}`},
		{"a number as text", rule(`{"type":"int","value":"5"}`), `{"value":5}`},
		{"behind a rule", documents.TargetsPro + `,` + rule(text("a")), `{"rules":1,"value":"a"}`},
		{"nothing for the rest", documents.TargetsPro, `{"rules":1}`},
		{"a split", rule(`{"type":"weighted_values","value":{"weightedValues":[{"value":` + text("a") + `,"weight":33333},{"value":` + text("b") + `,"weight":66667},{"value":` + text("c") + `,"weight":0}]}}`),
			`{"split":[{"value":"a","percent":33.333},{"value":"b","percent":66.667}]}`},
		{"many arms", rule(`{"type":"weighted_values","value":{"weightedValues":[` + strings.TrimSuffix(arms, ",") + `]}}`),
			`{"split":[` + strings.TrimSuffix(strings.Repeat(`{"value":"a","percent":4.167},{"value":"b","percent":8.333},`, 5), ",") + `]}`},
		{"scheduled", due("03-02", "change", text("b")) + `,` + rule(text("a")), `{"value":"a"}`},
		{"at its moment, of which it is one later", due("03-01", "change", text("b")) + `,` + rule(text("a")), `{"value":"a"}`},
		{"it has come", documents.TargetsPro + `,` + due("02-28", "change", text("b")) + `,` + rule(text("a")), `{"rules":1,"value":"b"}`},
		{"it has come for everyone", due("02-28", "change", text("b")) + `,` + documents.TargetsPro + `,` + rule(text("a")), `{"value":"b"}`},
		{"the last that has come", due("03-02", "change", text("d")) + `,` + due("02-28", "change", text("c")) + `,` + due("02-27", "change", text("b")) + `,` + rule(text("a")), `{"value":"c"}`},
		{"a step of a plan", due("03-02", "rollout", half) + `,` + due("02-28", "rollout", half) + `,` + rule(text("a")), `{"split":[{"value":"b","percent":50},{"value":"a","percent":50}]}`},
		{"beneath a pause", strings.Replace(rule(text("p")), "{", `{"paused":true,`, 1) + `,` + due("02-28", "change", text("b")) + `,` + rule(text("a")), `{"paused":true,"value":"p"}`},
		{"as long as may be", rule(text(long)), `{"value":"` + long + `"}`},
		{"long", rule(text(long + "b")), `{"value":"` + long + `","truncated":true}`},
		{"long JSON", rule(`{"type":"json","value":{"k":"` + long + `"}}`), `{"value":"{\"k\":\"` + strings.Repeat("ä", 94) + `","truncated":true}`},
		{"confidential", rule(`{"type":"string","value":"a","confidential":true}`), `{"confidential":true}`},
		{"encrypted", rule(`{"type":"string","value":"a","decryptWith":"k"}`), `{"confidential":true}`},
		{"provided", rule(`{"type":"provided","value":{"source":"ENV_VAR","lookup":"A"}}`), `{"confidential":true}`},
		{"a split of secrets", rule(`{"type":"weighted_values","value":{"weightedValues":[{"value":{"type":"string","value":"a","confidential":true},"weight":1},{"value":` + text("b") + `,"weight":1}]}}`),
			`{"split":[{"confidential":true,"percent":50},{"value":"b","percent":50}]}`},
	} {
		d := document.View(documents.Tree(t, `{"key":"a","type":"feature_flag","valueType":"string","default":{"rules":[`+c.rules+`]},"environments":[{"id":"archived","rules":[]}]}`))
		if got := documents.Wire(t, ServingsOf(d).In([]document.Active{{Name: "production"}}, now)); got != `{"default":`+c.want+`}` {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestWhyAnItemIsStale judges by when it was changed and evaluated, on 2026-11-23.
func TestWhyAnItemIsStale(t *testing.T) {
	const always, sometimes = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}`, `{"criteria":[{"operator":"IS_PRESENT","propertyName":"user.key"}],"value":{"type":"bool","value":false}}`
	for _, c := range []struct {
		name, kind, rules, more, since, changed, evaluated string
		want                                               string
	}{
		{"in use", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-11-23", ""},
		{"not evaluated for long", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-10-23", "was not evaluated in the last 30 days"},
		{"evaluated on the first day that counts", "feature_flag", sometimes, "", "2026-01-01", "2026-01-01", "2026-10-24", ""},
		{"never evaluated", "config", always, "", "2026-01-01", "2026-01-01", "", "was not evaluated since 2026-01-01, when counting began"},
		{"counted for too short a time", "feature_flag", sometimes, "", "2026-10-25", "2026-01-01", "", ""},
		{"nothing counted", "feature_flag", sometimes, "", "", "2026-01-01", "", ""},
		{"changed lately", "feature_flag", sometimes, "", "2026-01-01", "2026-10-24", "", ""},
		{"changed lately, and marked", "feature_flag", always, `,"readyForCleanup":true`, "2026-01-01", "2026-10-24", "", "is marked as ready for cleanup"},
		{"all at once", "feature_flag", always, `,"readyForCleanup":true`, "2026-01-01", "2026-01-01", "2026-02-01",
			"is marked as ready for cleanup; serves true to everybody; was not evaluated in the last 30 days"},
		{"a config with one value", "config", always, "", "2026-01-01", "2026-01-01", "2026-11-23", ""},
		{"a secret", "feature_flag", strings.Replace(always, `"value":true}`, `"value":true,"confidential":true}`, 1), "", "2026-01-01", "2026-01-01", "2026-11-23", "serves a secret to everybody"},
	} {
		d := document.View(documents.Tree(t, `{"key":"k","type":"`+c.kind+`","valueType":"bool","default":{"rules":[`+c.rules+`]}`+c.more+`}`))
		var everyone *ShortValue
		if one, is := ServingsOf(d).One([]document.Active{{Name: "production"}}); is && d.Type == document.Flag {
			everyone = &one
		}
		if c.evaluated != "" {
			c.evaluated += "T00:00:00Z"
		}
		by := Stale{30, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), c.since}
		reasons, recent := by.Why(d.ReadyForCleanup, everyone, c.changed+"T10:00:00Z", c.evaluated)
		if recent != strings.HasPrefix(c.name, "changed lately") {
			t.Errorf("%s: recently changed: %v", c.name, recent)
		}
		var got []string
		for _, r := range reasons {
			got = append(got, r.Message)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, "; "), c.want)
		}
	}
}

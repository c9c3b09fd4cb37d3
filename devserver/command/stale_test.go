package command

import (
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
)

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
		{"a segment", "segment", always, `,"readyForCleanup":true`, "2026-01-01", "2026-01-01", "", ""},
		{"a secret", "feature_flag", strings.Replace(always, `"value":true}`, `"value":true,"confidential":true}`, 1), "", "2026-01-01", "2026-01-01", "2026-11-23", "serves a secret to everybody"},
	} {
		tree, err := document.Parse([]byte(`{"key":"k","type":"` + c.kind + `","valueType":"bool","default":{"rules":[` + c.rules + `]}` + c.more + `}`))
		must(t, err)
		v := staleView{environments: []string{"production"}, days: 30, today: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), since: c.since, uses: map[string]itemUse{}}
		use := itemUse{Key: "k"}
		if use.LastModified.Date = c.changed + "T10:00:00Z"; c.evaluated != "" {
			use.LastEvaluatedAt = c.evaluated + "T00:00:00Z"
		}
		v.uses["k"] = use
		var got []string
		for _, r := range v.judge(document.View(tree), "k").Reasons {
			got = append(got, r.Message)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, strings.Join(got, "; "), c.want)
		}
	}
}

package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

const reviewedDeclaration = `{"environments": [{"name": "production", "protected": true}, "staging"], "prerequisites": true, "review": {"production": {"approvals": 1}}}`

func TestWhatIsReviewedNeedsApprovals(t *testing.T) {
	secret := boolFlag("secret", `,"environments":[{"id":"production","rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true,"confidential":true}}]}]`)
	w := newWorld(t, map[string]string{"svc.json": reviewedDeclaration, path("f"): boolFlag("f", ""), path("secret"): secret,
		path("g"): boolFlag("g", `,"environments":[{"id":"staging","rules":[`+serves("bool", "true")+`]}]`)})
	s := w.boss()
	for name, test := range map[string]struct {
		operation change.Operation
		required  string
	}{
		"production":                  {enable("f", "production", true), "production"},
		"default rules":               {enable("f", "default", true), "production"},
		"staging":                     {enable("f", "staging", true), ""},
		"a creation":                  {created("new"), "production"},
		"a deletion":                  {deleted("f"), "production"},
		"a copy":                      {change.Copy(change.Copying{From: "staging", To: "production", Keys: []string{"g"}}), "production"},
		"words":                       {w.putOf(document.Flag, "f", boolFlag("f", `,"name":"F"`)), ""},
		"staging of what has secrets": {enable("secret", "staging", true), ""},
		"a secret":                    {enable("secret", "production", false), "production"},
	} {
		set := change.ChangeSet{Operations: []change.Operation{test.operation}}
		set.DryRun = true
		shown := must.Get(s.Changes().Change(ctx, set))(t)
		if got := strings.Join(shown.ReviewRequired, " "); got != test.required {
			t.Errorf("%s: a dry run says that %q has to be reviewed, not %q", name, got, test.required)
		}
		set.DryRun = false
		if test.required != "" {
			f := ended(w.boss().Changes().Change(ctx, set))(t, "403 FORBIDDEN REVIEW_REQUIRED")
			if got := wire(t, f.Details["environments"]); got != `["production"]` {
				t.Errorf("%s: refused for %s", name, got)
			}
		}
	}
	must.Get(w.change("", enable("f", "staging", true)))(t)
}

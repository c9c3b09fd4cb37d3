package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/testing/must"
)

func TestCopyingAnEnvironment(t *testing.T) {
	entry := func(names ...string) string {
		var entries []string
		for i, name := range names {
			entries = append(entries, `{"id":"`+name+`","rules":[`+strings.Repeat(targets("x", "bool", "true")+",", i)+serves("bool", "true")+`]}`)
		}
		return `,"environments":[` + strings.Join(entries, ",") + `],"tags":["checkout"]`
	}
	w := newWorld(t, map[string]string{
		path("own"):            boolFlag("own", entry("staging")),
		path("both"):           boolFlag("both", entry("production", "staging")),
		path("inherits"):       boolFlag("inherits", entry("production")),
		path("neither"):        boolFlag("neither", `,"tags":["checkout"]`),
		path("untagged"):       boolFlag("untagged", entry("staging")[:strings.Index(entry("staging"), `,"tags"`)]),
		path("guarded"):        boolFlag("guarded", entry("staging")+`,"access":"protected-env"`),
		"configs/c.json":       configOf("c", "int", "1", `,"environments":[{"id":"staging","rules":[`+serves("int", "2")+`]}]`),
		"segments/s.json":      segmentOf("s", serves("bool", "true")),
		"configs/escaped.json": configOf("escaped", "int", "1", `,"tags":["check\u006fut"]`),
	})
	copying := func(from, to string, tag string, keys ...string) change.Operation {
		c := change.Copying{From: from, To: to, Keys: keys}
		if tag != "" {
			c.Tag = &tag
		}
		return change.Copy(c)
	}
	for _, tt := range []struct {
		name      string
		operation change.Operation
		role      string
		want      string
	}{
		{"of nothing", copying("staging", "production", ""), "engineer", "400 BAD_REQUEST"},
		{"by both", copying("staging", "production", "checkout", "own"), "engineer", "400 BAD_REQUEST"},
		{"to nowhere", copying("staging", "nowhere", "", "own"), "engineer", "404 NOT_FOUND"},
		{"to an archived one", copying("staging", "old", "", "own"), "engineer", "404 NOT_FOUND"},
		{"of what is not there", copying("staging", "production", "", "own", "none"), "engineer", "404 NOT_FOUND"},
		{"of a segment", copying("staging", "production", "", "s"), "engineer", "404 NOT_FOUND"},
		{"of a tag that nothing has", copying("staging", "production", "none"), "engineer", "422 UNPROCESSABLE_CONTENT"},
		{"by who may not", copying("staging", "production", "", "own"), "engineer_nonprotected", "403 FORBIDDEN PERMISSION_DENIED"},
		{"by who may not all", copying("staging", "production", "checkout"), "engineer", "403 FORBIDDEN PERMISSION_DENIED"},
		{"from what is protected", copying("production", "staging", "", "both"), "engineer_nonprotected", "ok"},
	} {
		_, err := w.enter(tt.role).Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true}, Operations: []change.Operation{tt.operation}})
		if got := refusal(err); got != tt.want {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
	r := must.Get(w.change("", copying("staging", "production", "checkout"), copying("staging", "production", "", "c", "untagged")))(t)
	var changed []string
	for _, result := range r.Results {
		if result.Changed {
			changed = append(changed, result.Key)
		}
	}
	if got := strings.Join(changed, " "); got != "both guarded inherits own c untagged" || len(r.Results) != 8 || r.Results[7].Index != 1 {
		t.Errorf("changed are %s of %s", got, wire(t, r.Results))
	}
	for key, want := range map[string]string{"own": `[{"id":"staging",%},{"id":"production",%}]`, "both": `[{"id":"production",%},{"id":"staging",%}]`, "inherits": "null"} {
		tree := node(t, w.stored(path(key)))
		got := wire(t, tree.Get("environments"))
		for _, e := range tree.Get("environments").Elements() {
			got = strings.Replace(got, `"rules":`+wire(t, e.Get("rules")), "%", 1)
			if wire(t, e.Get("rules")) != wire(t, tree.Get("environments").Items[0].Get("rules")) {
				t.Errorf("%s: the rules differ", key)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestACopyOfWhatWasSeen is refused where any of its items has changed since.
func TestACopyOfWhatWasSeen(t *testing.T) {
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", `,"tags":["t"]`), path("b"): boolFlag("b", `,"tags":["t"]`), path("c"): boolFlag("c", "")})
	must.Get(w.change("", enable("a", "staging", true), enable("b", "staging", true)))(t)
	seen, tag := w.last().SHA, "t"
	copied := func(token string) string {
		_, err := w.change("", change.Copy(change.Copying{From: "staging", To: "production", Tag: &tag, ExpectedCommitSHA: &token}))
		return refusal(err)
	}
	if got := copied("seen"); got != "400 BAD_REQUEST" && got != "409 CONFLICT STALE_COMMIT_SHA" {
		t.Errorf("what is no token: %s", got)
	}
	must.Get(w.change("", enable("b", "production", true)))(t)
	if got := copied(seen); got != "409 CONFLICT STALE_COMMIT_SHA" {
		t.Errorf("after a change of one of them: %s", got)
	}
	seen = w.last().SHA
	must.Get(w.change("", enable("c", "production", true)))(t)
	if got := copied(seen); got != "ok" {
		t.Errorf("after a change of another item: %s", got)
	}
}

// TestAnItemThatWasNotThere: a schema, or the log level of a service, is created where
// that is still so.

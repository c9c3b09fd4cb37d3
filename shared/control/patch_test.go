package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

func issuesAt(places ...string) []document.Issue {
	var issues []document.Issue
	for _, place := range places {
		issues = append(issues, document.Issue{Pointer: place, Message: "unknown field"})
	}
	return issues
}

func TestPatchFlag(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false"))})
	start := w.last().SHA
	r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	want := `{"key":"f","environment":"production","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `",` +
		`"preservedTargetingRuleCount":1,"rules":[` + targets("pro", "bool", "true") + `,` + serves("bool", "true") + `]}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if c := w.last(); !strings.HasPrefix(c.Message, "production: enabled set to true") {
		t.Errorf("message %q", c.Message)
	}

	n := w.repo.Count("Commit")
	again := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	want = `{"key":"f","environment":"production","changed":false,"commitSha":"` + r.CommitSHA + `",` +
		`"preservedTargetingRuleCount":1,"rules":[` + targets("pro", "bool", "true") + `,` + serves("bool", "true") + `]}`
	if got := wire(t, again); got != want || w.repo.Count("Commit") != n {
		t.Errorf("again: got\n%s, want\n%s", got, want)
	}

	gone := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), ReplaceTargeting: true}))(t)
	want = `{"key":"f","environment":"production","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + w.last().Parent + `",` +
		`"replacedTargetingRuleCount":1,"rules":[` + serves("bool", "true") + `]}`
	if got := wire(t, gone); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestPatchOperations(t *testing.T) {
	text := `{"key":"colour","type":"feature_flag","valueType":"string","default":{"rules":[` + serves("string", `"red"`) + `]},` +
		`"variants":[{"value":{"type":"string","value":"red"}},{"value":{"type":"string","value":"blue"}}]}`
	rollout := `[{"value":"red","percent":33.333},{"value":"blue","percent":66.667}]`
	for _, test := range []struct {
		name, key string
		patch     change.ValuePatch
		want      string
		at        string
	}{
		{"enable a bool", "f", change.ValuePatch{Enabled: ptr(true)}, "ok", ""},
		{"value of a string", "colour", change.ValuePatch{Value: node(t, `"green"`)}, "ok", ""},
		{"rollout of a string", "colour", change.ValuePatch{Rollout: node(t, rollout)}, "ok", ""},
		{"nothing", "f", change.ValuePatch{}, "400 BAD_REQUEST", ""},
		{"two operations", "f", change.ValuePatch{Enabled: ptr(true), Value: node(t, "true")}, "400 BAD_REQUEST", ""},
		{"enable a string", "colour", change.ValuePatch{Enabled: ptr(true)}, "400 BAD_REQUEST", "/enabled"},
		{"another type", "colour", change.ValuePatch{Value: node(t, "1")}, "400 BAD_REQUEST", "/value"},
		{"above 100", "colour", change.ValuePatch{Rollout: node(t, `[{"value":"red","percent":101},{"value":"blue","percent":-1}]`)}, "400 BAD_REQUEST", "/rollout/0/percent /rollout/1/percent"},
		{"rules that are no list", "rules", change.ValuePatch{Enabled: ptr(true)}, "422 UNPROCESSABLE_CONTENT", "/default/rules"},
		{"an empty token", "f", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: ptr("")}, "400 BAD_REQUEST", "/expectedCommitSha"},
		{"all at once", "f", change.ValuePatch{Rollout: node(t, `[]`), ExpectedCommitSHA: ptr(""), Request: change.Request{Malformed: issuesAt("/x")}},
			"400 BAD_REQUEST", "/x /expectedCommitSha /rollout"},
		{"found before, and nothing", "f", change.ValuePatch{Request: change.Request{Malformed: issuesAt("/x")}}, "400 BAD_REQUEST", "/x "},
		{"found before, and two operations", "f", change.ValuePatch{Value: node(t, "true"), Request: change.Request{Malformed: issuesAt("/enabled")}}, "400 BAD_REQUEST", "/enabled "},
		{"found before, in a flag that is not there", "nope", change.ValuePatch{Value: node(t, "1"), Request: change.Request{Malformed: issuesAt("/x")}}, "400 BAD_REQUEST", "/x"},
		{"what was found before is not said twice", "f", change.ValuePatch{Request: change.Request{Malformed: issuesAt("/enabled")}}, "400 BAD_REQUEST", "/enabled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("colour"): text,
				path("rules"): `{"key":"rules","type":"feature_flag","valueType":"bool","default":{"rules":{}}}`})
			n := w.repo.Head()
			r, err := w.boss().Changes().Patch(ctx, document.Flag, test.key, "staging", test.patch)
			f := wantRefusal(t, err, test.want)
			if got := pointers(f, "issues"); got != test.at {
				t.Errorf("issues at %s, want %s: %v", got, test.at, err)
			}
			if err == nil != (w.repo.Head() != n) || err == nil && !r.Changed {
				t.Error("what is refused is not written, what is not is")
			}
		})
	}
}

func TestScopesThatCanBeWritten(t *testing.T) {
	for scope, want := range map[string]string{
		"default": "ok", "production": "ok", "old": "404 NOT_FOUND", "Production": "404 NOT_FOUND", "": "404 NOT_FOUND", "nope": "404 NOT_FOUND",
	} {
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
		_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)})
		wantRefusal(t, err, want)
	}
}

func TestPatchConfig(t *testing.T) {
	schema := `{"type":"integer","minimum":0,"maximum":10}`
	w := newWorld(t, map[string]string{
		"configs/limit.json": configOf("limit", "int", "-5", `,"schemaKey":"s"`),
		"configs/free.json":  configOf("free", "json", "{}", ""),
		"schemas/s.json":     schema,
	})
	_, err := w.boss().Changes().Patch(ctx, document.Config, "free", "default", change.ValuePatch{})
	wantRefusal(t, err, "400 BAD_REQUEST")
	_, err = w.boss().Changes().Patch(ctx, document.Config, "limit", "default", change.ValuePatch{Value: node(t, `"x"`), ExpectedCommitSHA: ptr(""), Request: change.Request{Malformed: issuesAt("/x")}})
	if got := pointers(wantRefusal(t, err, "400 BAD_REQUEST"), "issues"); got != "/x /expectedCommitSha" {
		t.Errorf("all that is wrong at once: issues at %s", got)
	}

	for _, test := range []struct {
		scope, value, want, at string
	}{
		{"staging", "11", "400 BAD_REQUEST SCHEMA_VIOLATION", "/environments/0/rules/0/value/value"},
		{"default", "-7", "400 BAD_REQUEST SCHEMA_VIOLATION", "/default/rules/0/value/value"}, // as wrong as what stands there
		{"staging", "7", "ok", ""}, // what stands elsewhere is not its fault
		{"default", "7", "ok", ""},
	} {
		_, err := w.boss().Changes().Patch(ctx, document.Config, "limit", test.scope, change.ValuePatch{Value: node(t, test.value)})
		f := wantRefusal(t, err, test.want)
		if got := pointers(f, "violations"); got != test.at {
			t.Errorf("%s in %s: violations at %s, want %s", test.value, test.scope, got, test.at)
		}
		if err != nil && f.Details["schemaKey"] != "s" {
			t.Errorf("%v", f.Details)
		}
	}
}

// A flag can be switched off whatever else is wrong with it.
func TestAPatchIsNotBlamedForWhatWasWrongBefore(t *testing.T) {
	imperfect := `,"access":"unheard-of","tags":[1],"environments":[{"id":"nowhere","rules":[]},{"id":"staging","rules":[` +
		`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"none"}}],"value":{"type":"bool","value":true}},` + serves("bool", "true") + `]}]`
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", imperfect)})
	r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(false)}))(t)
	if !r.Changed {
		t.Error(wire(t, r))
	}
	current := must.Get(w.boss().Document(ctx, document.Flag, "f", nil))(t)
	changed := current.Document.Clone()
	changed.SetFirst("name", node(t, `"x"`))
	_, err := w.boss().Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: changed, ExpectedCommitSHA: &current.CommitSHA})
	wantRefusal(t, err, "400 BAD_REQUEST VALIDATION_FAILED")
}

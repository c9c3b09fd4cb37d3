package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/testing/must"
)

const allowing = `{"environments": [{"name": "production", "protected": true}, "staging", {"name": "old", "archived": true}], "prerequisites": true}`

// asks is a rule that serves true where a flag serves a value.
func asks(flag, value string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"FLAG_IS_ONE_OF","propertyName":%q,"valueToMatch":{"type":"string_list","value":[%q]}}],"value":{"type":"bool","value":true}}`, flag, value)
}

func TestPrerequisitesAreAllowedBySetting(t *testing.T) {
	files := map[string]string{path("base"): boolFlag("base", "", serves("bool", "false")), path("f"): boolFlag("f", "", serves("bool", "false"))}
	asking := boolFlag("f", "", asks("base", "true"), serves("bool", "false"))
	w := newWorld(t, files)
	f := ended(w.put("f", asking))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	if got := pointers(f, "issues"); !strings.Contains(got, "/default/rules/0/criteria/0/operator") {
		t.Error(got)
	}
	files["svc.json"] = allowing
	w = newWorld(t, files)
	r := must.Get(w.put("f", asking))(t)
	if len(r.Warnings) != 1 || r.Warnings[0].Code != "PREREQUISITE" {
		t.Errorf("warned of %v", r.Warnings)
	}
	for name, tt := range map[string]struct{ key, text, at string }{
		"itself":       {"f", boolFlag("f", "", asks("f", "true"), serves("bool", "false")), "/default/rules/0/criteria/0/propertyName"},
		"a circle":     {"base", boolFlag("base", "", asks("f", "true"), serves("bool", "false")), "/default/rules/0/criteria/0/propertyName"},
		"unknown":      {"f", boolFlag("f", "", asks("gone", "true"), serves("bool", "false")), "/default/rules/0/criteria/0/propertyName"},
		"another type": {"f", boolFlag("f", "", asks("base", "blue"), serves("bool", "false")), "/default/rules/0/criteria/0/valueToMatch"},
	} {
		f := ended(w.put(tt.key, tt.text))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
		if got := pointers(f, "issues"); got != tt.at {
			t.Errorf("%s: refused at %s: %v", name, got, f)
		}
		if name == "a circle" && !strings.Contains(f.Message, "base -> f -> base") {
			t.Error("the circle is not told:", f.Message)
		}
	}
}

// TestWhoAsksIsTold by writes to the flag, and keeps it from being deleted.
func TestWhoAsksIsTold(t *testing.T) {
	w := newWorld(t, map[string]string{"svc.json": allowing, path("base"): boolFlag("base", "", serves("bool", "false")),
		path("f"): boolFlag("f", "", asks("base", "true"), serves("bool", "false")), path("other"): boolFlag("other", "", serves("bool", "false"))})
	patch := func(key string) *change.PatchResult {
		return must.Get(w.boss().Changes().Patch(ctx, document.Flag, key, "staging", change.ValuePatch{Enabled: ptr(true)}))(t)
	}
	const want = `[{"type":"feature_flag","key":"f","pointer":"/default/rules/0/criteria/0/propertyName"}]`
	r := patch("base")
	if wire(t, r.Dependents) != want || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, `the flag "f"`) {
		t.Errorf("a PATCH tells of %v and warns of %v", r.Dependents, r.Warnings)
	}
	if r := patch("other"); r.Dependents != nil || r.Warnings != nil {
		t.Error("who is asked by nobody", r)
	}
	put := must.Get(w.put("base", boolFlag("base", "", serves("bool", "true"))))(t)
	if wire(t, put.Dependents) != want {
		t.Errorf("a PUT tells of %v", put.Dependents)
	}
	set := must.Get(w.change("", w.putOf(document.Flag, "base", boolFlag("base", "", serves("bool", "false")))))(t)
	if wire(t, set.Results[0].Dependents) != want {
		t.Errorf("a change set tells of %v", set.Results[0].Dependents)
	}
	f := ended(w.remove(document.Flag, "base"))(t, "409 CONFLICT REFERENCED")
	if wire(t, f.Details["references"]) != want {
		t.Errorf("%v refer to it", f.Details["references"])
	}
	text := strings.ReplaceAll(boolFlag("base", "", serves("string", `"a"`)), `"valueType":"bool"`, `"valueType":"string"`)
	f = ended(w.put("base", text))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	if pointers(f, "issues") != "/valueType" {
		t.Errorf("another type of values: %v", f)
	}
	must.Get(w.put("f", boolFlag("f", "", serves("bool", "false"))))(t)
	must.Get(w.remove(document.Flag, "base"))(t)
}

// TestWhatIsAskedForHasTheTierOfWhoAsks, also through others.
func TestWhatIsAskedForHasTheTierOfWhoAsks(t *testing.T) {
	guarded := strings.Replace(boolFlag("guarded", "", asks("between", "true"), serves("bool", "false")), `"key"`, `"access":"protected-all-envs","key"`, 1)
	w := newWorld(t, map[string]string{"svc.json": allowing, path("base"): boolFlag("base", "", serves("bool", "false")),
		path("between"): boolFlag("between", "", asks("base", "true"), serves("bool", "false")), path("guarded"): guarded})
	patch := change.ValuePatch{Enabled: ptr(true)}
	ended(w.enter("engineer").Changes().Patch(ctx, document.Flag, "base", "staging", patch))(t, "403 FORBIDDEN PERMISSION_DENIED")
	ended(w.boss().Changes().Patch(ctx, document.Flag, "base", "staging", patch))(t, "ok")
}

// TestPrerequisitesInOneChangeSet are judged together, and a circle made by two at once is
// refused.
func TestPrerequisitesInOneChangeSet(t *testing.T) {
	w := newWorld(t, map[string]string{"svc.json": allowing, path("a"): boolFlag("a", "", serves("bool", "false")), path("b"): boolFlag("b", "", serves("bool", "false"))})
	ask := func(key, on string) change.Operation {
		return w.putOf(document.Flag, key, boolFlag(key, "", asks(on, "true"), serves("bool", "false")))
	}
	ended(w.change("", ask("a", "b"), ask("b", "a")))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	// Somebody else closes the circle meanwhile.
	w.meanwhile(w.pushes(path("b"), boolFlag("b", "", asks("a", "true"), serves("bool", "false"))))
	ended(w.put("a", boolFlag("a", "", asks("b", "true"), serves("bool", "false"))))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	w = newWorld(t, map[string]string{"svc.json": allowing, path("a"): boolFlag("a", "", serves("bool", "false")), path("b"): boolFlag("b", "", serves("bool", "false"))})
	ended(w.change("", ask("a", "b")))(t, "ok")
}

// TestAnExplanationShowsTheOtherFlag.
func TestAnExplanationShowsTheOtherFlag(t *testing.T) {
	w := newWorld(t, map[string]string{"svc.json": allowing, path("base"): boolFlag("base", "", targets("pro", "bool", "true"), serves("bool", "false")),
		path("f"): boolFlag("f", "", asks("base", "true"), serves("bool", "false"))})
	q := control.EvaluationQuery{Environment: "staging", Question: explanation.Question{Keys: []string{"f"}, Explain: true, Context: node(t, `{"user":{"plan":"pro"}}`)}}
	e := must.Get(w.boss().Evaluate(ctx, q))(t).Evaluations["f"]
	if got := wire(t, e.Explanation[0].Criteria[0]); string(e.Value) != "true" ||
		!strings.HasPrefix(got, `{"operator":"FLAG_IS_ONE_OF","propertyName":"base","expected":["true"],"actual":true,"present":true,"holds":true,"flag":[{"ruleSource":"default","index":0,"matched":true,`) {
		t.Errorf("serves %s: %s", e.Value, got)
	}
}

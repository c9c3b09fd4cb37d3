package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// TestAFullWorkspaceTakesNothingMore, so that no document is crowded out by
// another; what makes it smaller is taken.
func TestAFullWorkspaceTakesNothingMore(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t)
	settings := w.settings()
	settings.MaxTexts = int64(len(w.stored(path("f"))) + len(w.stored("svc.json")) + 1)
	w.service = control.New(settings)
	large := jsontree.NewString(strings.Repeat("x", 10_000))
	for _, dry := range []bool{true, false} {
		_, err := w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Request: change.Request{DryRun: dry}, Key: "large", ValueType: ptr("string"), Value: large})
		if got := refusal(err); !strings.HasPrefix(got, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION") || !strings.Contains(err.Error(), "bytes together") {
			t.Errorf("dry run %v: %s, %v", dry, got, err)
		}
	}
	for _, on := range []bool{false, true} { // "false" is a byte longer
		if _, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: &on}); err != nil {
			t.Errorf("a toggle to %v: %v", on, err)
		}
	}
	if _, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}); refusal(err) != "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION" {
		t.Errorf("a small change that does not fit: %v", err)
	}
}

// matching is a flag with large expressions, the same for the same seed.
func matching(key string, seed int) string {
	var rules []string
	for i := range 49 {
		rules = append(rules, fmt.Sprintf(`{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":"%d-%d|x{1000}"}}],"value":{"type":"bool","value":true}}`, seed, i))
	}
	return boolFlag(key, "", rules...)
}

// fullOfExpressions is a workspace with no room for those of one more document.
func fullOfExpressions(t *testing.T) *world {
	files := map[string]string{path("z"): boolFlag("z", "")}
	for i := range 5 {
		files[path(fmt.Sprint("f", i))] = matching(fmt.Sprint("f", i), i)
	}
	return newWorld(t, files)
}

// TestAWorkspaceFullOfExpressions takes no more of them, and whatever else.
func TestAWorkspaceFullOfExpressions(t *testing.T) {
	w := fullOfExpressions(t)
	_, err := w.put("z", matching("z", 9))
	if got := refusal(err); !strings.HasPrefix(got, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION") || !strings.Contains(err.Error(), "250000 instructions together") {
		t.Errorf("more of them: %s, %v", got, err)
	}
	if _, err := w.put("z", matching("z", 4)); err != nil {
		t.Errorf("those that are there: %v", err)
	}
	if _, err := w.put("f0", matching("f0", 8)); err != nil {
		t.Errorf("others instead: %v", err)
	}
	w.repo.Push(ada, "Too many", map[string]string{path("z"): matching("z", 9)})
	for _, key := range []string{"z", "f1"} {
		if _, err := w.boss().Changes().Patch(ctx, document.Flag, key, "production", change.ValuePatch{Enabled: ptr(false)}); err != nil {
			t.Errorf("%s cannot be switched off: %v", key, err)
		}
	}
}

// TestExpressionsThatArePushedBeyondTheBound: the documents that came last are
// served as they last were good, wherever they stand in the alphabet.
func TestExpressionsThatArePushedBeyondTheBound(t *testing.T) {
	w := fullOfExpressions(t)
	before := matching("a", 3)
	w.repo.Push(ada, "Some that are there", map[string]string{path("a"): before})
	w.repo.Push(ada, "Too many", map[string]string{path("a"): matching("a", 8), path("b"): matching("b", 9)})
	for key, want := range map[string]string{"a": before, "b": "", "f4": matching("f4", 4), "z": boolFlag("z", "")} {
		if got := w.served(path(key)); got != want {
			t.Errorf("of %s %.80q is served", key, got)
		}
	}
	if d := w.detail(); d.BrokenDocuments != 2 || *d.Broken[0].Key != "a" || !strings.Contains(d.Broken[0].Problem, "250000 instructions together") || d.Broken[0].ServedFrom == nil || d.Broken[1].ServedFrom != nil {
		t.Errorf("%+v", d)
	}
	w.repo.Push(ada, "Make room", map[string]string{path("f0"): boolFlag("f0", ""), path("f1"): boolFlag("f1", "")})
	if got := w.served(path("b")); got != matching("b", 9) {
		t.Errorf("where there is room again %.80q is served", got)
	}
}

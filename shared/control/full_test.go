package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/jsontree"
)

// TestAFullWorkspaceTakesNothingMore, so that no document is crowded out by
// another; what makes it smaller is taken.
func TestAFullWorkspaceTakesNothingMore(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	if _, err := w.boss().PatchFlag(ctx, "f", "default", control.FlagPatch{Enabled: ptr(true)}); err != nil {
		t.Fatal(err)
	}
	settings := w.settings()
	settings.MaxTexts = int64(len(w.stored(path("f"))) + len(w.stored("svc.json")) + 1)
	w.service = control.New(settings)
	large := jsontree.NewString(strings.Repeat("x", 10_000))
	for _, dry := range []bool{true, false} {
		_, err := w.boss().CreateConfig(ctx, control.ConfigCreation{Request: control.Request{DryRun: dry}, Key: "large", ValueType: "string", Value: large})
		if got := refusal(err); !strings.HasPrefix(got, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION") || !strings.Contains(err.Error(), "bytes together") {
			t.Errorf("dry run %v: %s, %v", dry, got, err)
		}
	}
	for _, on := range []bool{false, true} { // "false" is a byte longer
		if _, err := w.boss().PatchFlag(ctx, "f", "default", control.FlagPatch{Enabled: &on}); err != nil {
			t.Errorf("a toggle to %v: %v", on, err)
		}
	}
	if _, err := w.boss().PatchFlag(ctx, "f", "production", control.FlagPatch{Enabled: ptr(true)}); refusal(err) != "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION" {
		t.Errorf("a small change that does not fit: %v", err)
	}
}

package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

func TestAStaleTokenIsExplained(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	token := w.last().SHA
	elsewhere := w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", `,"x":1`)}).SHA
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	by := repository.Signature{Name: "Bob", Email: "bob@example.com", When: ada.When}
	w.repo.Push(by, "by hand", map[string]string{path("f"): boolFlag("f", `,"tags":["web"]`)})
	current := w.last().SHA
	for _, test := range []struct {
		name, token string
		changes     int
	}{
		{"a commit that touched the flag", token, 2},
		{"a commit that did not", elsewhere, 2},
		{"no SHA", "main", 0},
		{"an unknown SHA", strings.Repeat("0", 40), 0},
		{"an abbreviation", token[:12], 0},
	} {
		_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &test.token})
		f := wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
		changes, _ := f.Details["changes"].([]feed.Activity)
		if f.Details["currentCommitSha"] != current || len(changes) != test.changes {
			t.Fatalf("%s: %s", test.name, wire(t, f.Details))
		}
		if test.changes == 0 {
			continue
		}
		got := wire(t, changes)
		for _, part := range []string{`"authorName":"Bob"`, `tags: added web`, `"authorName":"Grace"`, `production: enabled set to true`, `"date":"2026-03-01T11:00:00Z"`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s is missing in %s", test.name, part, got)
			}
		}
		if changes[0].AuthorName != "Bob" {
			t.Errorf("not the newest first: %s", got)
		}
	}
	w.repo.Fail["History"] = errStorage
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &token})
	wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
}

package control_test

import (
	"regexp"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func TestDifferences(t *testing.T) {
	on, off := serves("bool", "true"), serves("bool", "false")
	w := newWorld(t, map[string]string{
		"feature-flags/inherits.json": boolFlag("inherits", ""),
		"feature-flags/same.json":     boolFlag("same", `,"environments":[{"id":"staging","rules":[`+on+`]},{"id":"production","rules":[`+on+`]}]`),
		"feature-flags/other.json":    boolFlag("other", `,"environments":[{"id":"staging","rules":[`+on+`]},{"id":"production","rules":[`+off+`]}]`),
		"feature-flags/broken.json":   `{`,
		"configs/own.json":            configOf("own", "string", `"a"`, `,"environments":[{"id":"production","rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"s3cret","confidential":true}}]}]`),
		"segments/s.json":             segmentOf("s", on),
		"log-levels/log-level.a.json": `{"key":"log-level.a","type":"log_level","valueType":"log_level","default":{"rules":[` + serves("log_level", `"INFO"`) + `]},"environments":[{"id":"staging","rules":[` + serves("log_level", `"DEBUG"`) + `]}]}`,
	})
	s := w.enter()
	sha := w.last().SHA
	row := func(kind, key, words string) string {
		return `{"type":"` + kind + `","key":"` + key + `","commitSha":"` + sha + `","messages":[{"scope":"production","message":"production: ` + words + `"}]}`
	}
	want := `{"commitSha":"` + sha + `","differences":[` + row("config", "own", "own rules removed; the default rules hold") + `,` +
		row("feature_flag", "other", "enabled set to true") + `,` + row("log_level", "log-level.a", "level set to DEBUG") + `]}`
	if got := wire(t, must.Get(s.Differences(ctx, "production", "staging", ""))(t)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := must.Get(s.Differences(ctx, "production", "staging", s.Cursor("differences", "feature-flags/other.json")))(t); len(got.Differences) != 1 || got.NextCursor != "" {
		t.Errorf("behind a cursor: %s", wire(t, got))
	}
	if got := must.Get(s.Differences(ctx, "production", "production", ""))(t); len(got.Differences) > 0 {
		t.Errorf("from itself: %s", wire(t, got))
	}
	both := func(a, b string) string {
		secret := func(env, value string) string {
			return `{"id":"` + env + `","rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + value + `","confidential":true}}]}`
		}
		w := newWorld(t, map[string]string{"configs/own.json": configOf("own", "string", `"a"`, `,"environments":[`+secret("staging", a)+`,`+secret("production", b)+`]`)})
		return regexp.MustCompile(`[0-9a-f]{40}`).ReplaceAllString(wire(t, must.Get(w.enter().Differences(ctx, "production", "staging", ""))(t)), "")
	}
	if right, wrong := both("s3cret", "s3cret"), both("guess", "s3cret"); right != wrong || !strings.Contains(right, "[redacted]") {
		t.Errorf("a guess that is right is told apart:\n%s\n%s", right, wrong)
	}
	ended(s.Differences(ctx, "production", "", ""))(t, "404 NOT_FOUND")
	ended(s.Differences(ctx, "production", "old", ""))(t, "404 NOT_FOUND")
	ended(s.Differences(ctx, "nowhere", "staging", ""))(t, "404 NOT_FOUND")
	ended(s.Differences(ctx, "production", "staging", "x"))(t, "400 BAD_REQUEST")
}

package control_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
)

// A value of a megabyte that nests deeply is some hundred megabytes once it is
// indented. Nothing of that is made: it is stored without white space, unless its
// sender may not do that.
func TestADocumentIsNotRenderedToLearnItsSize(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("0,", 45_000) + "0" + strings.Repeat("]", 200)
	files := map[string]string{
		path("f"):        boolFlag("f", ""),
		"configs/c.json": configOf("c", "json", "{}", ""),
		"configs/d.json": configOf("d", "json", deep, ""), // as it may be pushed
	}
	asks := map[string]func(s *control.Session, r change.Request, token string) error{
		"creation": func(s *control.Session, r change.Request, _ string) error {
			_, err := s.Changes().Create(ctx, change.Creation{Type: document.Config, Request: r, Key: "new", ValueType: ptr("json"), Value: node(t, deep)})
			return err
		},
		"patch": func(s *control.Session, r change.Request, _ string) error {
			_, err := s.Changes().Patch(ctx, document.Config, "c", "production", change.ValuePatch{Request: r, Value: node(t, deep)})
			return err
		},
		"patch of what is large": func(s *control.Session, r change.Request, _ string) error {
			_, err := s.Changes().Patch(ctx, document.Config, "d", "production", change.ValuePatch{Request: r, Value: node(t, "1")})
			return err
		},
		"document": func(s *control.Session, r change.Request, token string) error {
			_, err := s.Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Request: r,
				Document: node(t, boolFlag("f", `,"extra":`+deep)), ExpectedCommitSHA: &token})
			return err
		},
	}
	for name, ask := range asks {
		for _, dry := range []bool{false, true} {
			w := newWorld(t, files)
			for _, who := range []struct {
				session *control.Session
				refusal string
			}{{w.enter("member"), "403"}, {w.boss(), ""}} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err := ask(who.session, change.Request{DryRun: dry}, w.repo.Head().Commit)
				runtime.ReadMemStats(&after)
				if got := refusal(err); !strings.HasPrefix(got, who.refusal) || err != nil && who.refusal == "" {
					t.Errorf("%s, dry run %v: %s %v", name, dry, got, err)
				}
				if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 50 {
					t.Errorf("%s, dry run %v, %s: %d MB were made", name, dry, who.refusal, made)
				}
			}
		}
	}
}

// TestWhatIsTooLargeIndentedIsEdited: a document that was pushed without white
// space, and would be too large with it, can be switched off and on, and replaced.
// It is stored indented as soon as that fits.
func TestWhatIsTooLargeIndentedIsEdited(t *testing.T) {
	text := func(users int, user, more string) string {
		list := "[" + strings.TrimSuffix(strings.Repeat(`"`+user+`",`, users), ",") + "]"
		return boolFlag("f", more, fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":%s}}],"value":{"type":"bool","value":true}}`, list), serves("bool", "true"))
	}
	pushed := text(43_000, "01234567", "")
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.Push(ada, "By hand", map[string]string{path("f"): pushed})
	lines := func(what string, most int) {
		t.Helper()
		if text := w.stored(path("f")); strings.Count(text, "\n") > most || !strings.HasSuffix(text, "\n") {
			t.Errorf("%s: it is stored in %d lines", what, strings.Count(text, "\n"))
		}
	}
	for _, environment := range []string{"default", "production"} { // which gets rules of its own
		for _, on := range []bool{false, true} {
			if r, err := w.boss().Changes().Patch(ctx, document.Flag, "f", environment, change.ValuePatch{Enabled: &on}); err != nil || !r.Changed {
				t.Errorf("%s to %v: %v", environment, on, err)
			}
			lines(fmt.Sprint(environment, on), 1)
		}
	}
	if _, err := w.put("f", text(42_000, "0123456789abcdef", `,"description":"d"`)); err != nil {
		t.Errorf("a replacement: %v", err)
	}
	lines("a replacement", 1)
	if _, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(false)}); !strings.HasPrefix(refusal(err), "400") || !strings.Contains(err.Error(), "without white space") {
		t.Errorf("more than can be stored: %v", err)
	}
	if _, err := w.put("f", text(1, "u", "")); err != nil {
		t.Errorf("a small replacement: %v", err)
	}
	if text := w.stored(path("f")); !strings.HasPrefix(text, "{\n  \"") {
		t.Errorf("a small document is stored as %.100q", text)
	}
}

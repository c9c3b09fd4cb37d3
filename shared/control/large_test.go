package control_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
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

// TestExport: every document is on one page, in the order of their paths, as the
// single read has it; pages are full and no more than that.
func TestExport(t *testing.T) {
	files := map[string]string{
		"schemas/s.json":      `{"type":"object"}`,
		"schemas/broken.json": `[`,
		path("broken"):        `{"key":`,
		path("list"):          `[]`,
		"configs/c.json":      configOf("c", "double", "1.0", ""),
		path("c"):             boolFlag("c", ""), // the key of another
	}
	const large = 5
	for i := range large { // two and a half to a page
		files[path(fmt.Sprint("large-", i))] = boolFlag(fmt.Sprint("large-", i), `,"description":"`+strings.Repeat("x", control.ExportPage*2/5)+`"`)
	}
	w := newWorld(t, files)
	s := w.enter()
	var seen, omitted []string
	var sizes []int
	for cursor := ""; ; {
		e := must.Get(s.Export(ctx, cursor))(t)
		if e.CommitSHA != w.last().SHA || e.Total != large+3 {
			t.Fatalf("a page of %s with %d", e.CommitSHA, e.Total)
		}
		size := 0
		for _, d := range e.Omitted {
			omitted = append(omitted, fmt.Sprint(string(d.Type), " ", d.Key, " ", d.CommitSHA == w.last().SHA))
		}
		for _, d := range e.Documents {
			stored := must.Get(s.Document(ctx, d.Type, d.Key, nil))(t)
			if stored.CommitSHA != d.CommitSHA || string(stored.Document.Compact()) != string(node(t, string(d.Document)).Compact()) {
				t.Errorf("the %s %s of %s is %.60s", d.Type, d.Key, d.CommitSHA, d.Document)
			}
			seen = append(seen, string(d.Type)+" "+d.Key)
			size += len(d.Document)
		}
		if sizes = append(sizes, len(e.Documents)); size > control.ExportPage {
			t.Errorf("a page of %d bytes", size)
		}
		if cursor = e.NextCursor; cursor == "" {
			break
		}
	}
	want := "config c, feature_flag c, feature_flag large-0, feature_flag large-1, feature_flag large-2, feature_flag large-3, feature_flag large-4, schema s"
	if got := strings.Join(seen, ", "); got != want || fmt.Sprint(sizes) != "[4 2 2]" {
		t.Errorf("pages of %v: %s", sizes, got)
	}
	if got := strings.Join(omitted, ", "); got != "feature_flag broken true, feature_flag list true, schema broken true" {
		t.Errorf("omitted are %s", got)
	}
	for _, cursor := range []string{"x", s.Cursor("flags", "c"), s.Cursor("export", "c")[1:]} {
		ended(s.Export(ctx, cursor))(t, "400 BAD_REQUEST")
	}
	small := map[string]string{}
	for i := range 30_000 {
		small[fmt.Sprintf("schemas/%d.json", i)] = "{}"
	}
	if text := wire(t, must.Get(newWorld(t, small).enter().Export(ctx, ""))(t)); len(text) > control.ExportPage {
		t.Errorf("a page of small documents has %d bytes", len(text))
	}
	if empty := must.Get(newWorld(t, nil).enter().Export(ctx, ""))(t); empty.Documents == nil || empty.Total != 0 {
		t.Errorf("nothing is %+v", empty)
	}
}

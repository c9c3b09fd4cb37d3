package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func (w *world) putSchema(key, text string, token *string) (*change.PutResult, error) {
	w.t.Helper()
	return w.boss().Changes().PutDocument(ctx, workspace.SchemaType, key, change.DocumentPut{Document: node(w.t, text), ExpectedCommitSHA: token})
}

func TestSchemas(t *testing.T) {
	w := newWorld(t, map[string]string{path("limits"): boolFlag("limits", "")}) // a flag's key is another's
	start := w.last().SHA
	r := must.Get(w.putSchema("limits", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"integer"}`, nil))(t)
	if want := `{"key":"limits","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `"}`; wire(t, r) != want {
		t.Errorf("got\n%s, want\n%s", wire(t, r), want)
	}
	if got := feed.MessageOf(w.last().Commit); got != `schema "limits" created` {
		t.Errorf("the commit says %q", got)
	}
	if again := must.Get(w.putSchema("limits", `{"type":"integer","$schema":"https://json-schema.org/draft/2020-12/schema"}`, &r.CommitSHA))(t); again.Changed {
		t.Error("another order of members is a change")
	}
	next := must.Get(w.putSchema("limits", `{"type":"integer","maximum":3}`, &r.CommitSHA))(t)
	if got := feed.MessageOf(w.last().Commit); got != `schema "limits" updated` {
		t.Errorf("the commit says %q", got)
	}
	_, err := w.putSchema("limits", `{"type":"integer"}`, &r.CommitSHA)
	wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
	for _, key := range []string{"limits", "LIMITS"} {
		_, err = w.putSchema(key, `{}`, nil)
		f := wantRefusal(t, err, "409 CONFLICT ALREADY_EXISTS")
		if wire(t, f.Details["collidingType"]) != `"schema"` || f.Details["collidingKey"] != "limits" {
			t.Errorf("details %v", f.Details)
		}
	}
	s := w.boss()
	stored := must.Get(s.Document(ctx, workspace.SchemaType, "limits", nil))(t)
	then := must.Get(s.Document(ctx, workspace.SchemaType, "limits", &r.CommitSHA))(t)
	if stored.CommitSHA != next.CommitSHA || stored.Document.Get("maximum") == nil || then.Document.Get("maximum") != nil {
		t.Errorf("%+v, and then %+v", stored, then)
	}
	must.Get(w.putSchema("another", `{}`, nil))(t)
	s = w.boss()
	page := must.Get(s.Schemas(ctx, feed.PageQuery{Limit: ptr(1)}))(t)
	rest := must.Get(s.Schemas(ctx, feed.PageQuery{Limit: ptr(1), Cursor: page.NextCursor}))(t)
	if page.Total != 2 || page.Schemas[0].Key != "another" || rest.Schemas[0].Key != "limits" || rest.NextCursor != "" {
		t.Errorf("%+v, then %+v", page, rest)
	}
	entries := must.Get(s.Feed().Activity(ctx, feed.ActivityQuery{Type: "schema", Key: "limits"}))(t).Activity
	if len(entries) != 2 || entries[0].Action != "updated" || entries[1].Messages[0].Message != `schema "limits" created` {
		t.Errorf("the feed is %+v", entries)
	}
}

// TestASchemaIsHeldAgainstTheValuesBoundToIt: what kept to it must still, and what
// did not is nobody's fault now.
func TestASchemaIsHeldAgainstTheValuesBoundToIt(t *testing.T) {
	w := newWorld(t, map[string]string{
		"schemas/s.json":    `{"type":"object","properties":{"max":{"maximum":10}}}`,
		"configs/good.json": configOf("good", "json", `{"max":9}`, `,"schemaKey":"s"`),
		"configs/bad.json":  configOf("bad", "json", `{"max":11}`, `,"schemaKey":"s"`),
		"configs/free.json": configOf("free", "json", `{"max":99}`, ""),
	})
	for text, want := range map[string]string{
		`{"type":"object","properties":{"max":{"maximum":5}}}`: "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION",
		`{"type":"string"}`:                    "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION",
		`{"type":"strung"}`:                    "400 BAD_REQUEST VALIDATION_FAILED",
		`{"$ref":"http://example.com/schema"}`: "400 BAD_REQUEST VALIDATION_FAILED",
		`{"type":"object","properties":{"max":{"maximum":10}},"description":"x"}`: "ok",
		`{"type":"object"}`: "ok",
	} {
		token := w.last().SHA
		_, err := w.boss().Changes().PutDocument(ctx, workspace.SchemaType, "s", change.DocumentPut{Request: change.Request{DryRun: true}, Document: node(t, text), ExpectedCommitSHA: &token})
		f := wantRefusal(t, err, want)
		if strings.HasPrefix(want, "422") && !strings.Contains(f.Message, `"good"`) {
			t.Errorf("%s: %s", text, f.Message)
		}
	}
}

func TestSegments(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	r := must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Segment, Key: "s", Name: "S", Description: "D"}))(t)
	if want := `{"$schema":"https://svc.test/schemas/v1/stored-config.json","key":"s","type":"segment","valueType":"bool","name":"S","description":"D","access":"standard","default":{"rules":[` +
		serves("bool", "false") + `]}}`; string(r.Document.Compact()) != want || r.ValueType != "bool" {
		t.Errorf("got\n%s, want\n%s", r.Document.Compact(), want)
	}
	rules := func(rules ...string) *change.Creation {
		return &change.Creation{Type: document.Segment, Key: "next", Default: node(t, `{"rules":[`+strings.Join(rules, ",")+`]}`)}
	}
	must.Get(w.boss().Changes().Create(ctx, *rules(inSegment("s"), serves("bool", "true"))))(t)
	document1 := node(t, w.stored("segments/s.json"))
	document1.Set("default", node(t, fmt.Sprintf(`{"rules":[%s]}`, inSegment("next"))))
	token := w.last().SHA
	_, err := w.boss().Changes().PutDocument(ctx, document.Segment, "s", change.DocumentPut{Document: document1, ExpectedCommitSHA: &token})
	f := wantRefusal(t, err, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	if !strings.Contains(f.Message, "circle") {
		t.Error(f.Message)
	}
	document1.Set("default", node(t, fmt.Sprintf(`{"rules":[%s]}`, targets("pro", "bool", "true"))))
	put := must.Get(w.boss().Changes().PutDocument(ctx, document.Segment, "s", change.DocumentPut{Document: document1, ExpectedCommitSHA: &token}))(t)
	undone := must.Get(w.boss().Changes().Revert(ctx, document.Segment, "s", change.Reversion{CommitSHA: put.CommitSHA, Mode: "undo"}))(t)
	if !undone.Changed || w.stored("segments/s.json") != string(document.Encode(r.Document)) {
		t.Errorf("undone it is %s", w.stored("segments/s.json"))
	}
}

// TestASchemaIsCheckedWithinBounds however many configs are bound to it: each takes
// less than a document may, and all of them more than a write does.
func TestASchemaIsCheckedWithinBounds(t *testing.T) {
	list := "[" + strings.Repeat("1,", 19_999) + "1]"
	files := map[string]string{"schemas/s.json": `{}`}
	put := func(configs int) error {
		for i := range configs {
			files[fmt.Sprintf("configs/c%d.json", i)] = configOf(fmt.Sprint("c", i), "json", list, `,"schemaKey":"s"`)
		}
		w := newWorld(t, files)
		_, err := w.boss().Changes().PutDocument(ctx, workspace.SchemaType, "s", change.DocumentPut{ExpectedCommitSHA: ptr(w.last().SHA),
			Document: node(t, `{"items":{"allOf":[{"type":"integer"},{"minimum":0},{"maximum":2}]}}`)})
		return err
	}
	wantRefusal(t, put(2), "ok")
	f := wantRefusal(t, put(20), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	if !strings.Contains(f.Message, "steps together") {
		t.Error(f.Message)
	}
}

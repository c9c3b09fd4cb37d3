package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// unusable are schemas that only git brings, with what is wrong with each.
var unusable = map[string]struct{ text, why string }{
	"cut off":             {`{"type":"int`, "ends in the middle of a JSON value"},
	"too large":           {strings.Repeat(" ", document.MaxSize) + `{"type":"integer"}`, "a file may have at most 1048576"},
	"a file of a machine": {`{"type":"integer","$ref":"file:///etc/passwd"}`, "cannot be followed"},
	"a list":              {`[]`, "a JSON Schema is an object, not an array"},
	"no such type":        {`{"type":"int"}`, "expected one of"},
}

// TestNoValueIsWrittenUnderASchemaThatCannotBeUsed: nobody could say whether it
// fits. What sets no value is written all the same. The schema counts as broken until a PUT
// repairs it.
func TestNoValueIsWrittenUnderASchemaThatCannotBeUsed(t *testing.T) {
	const bound = `,"schemaKey":"s"`
	for name, schema := range unusable {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"configs/c.json": configOf("c", "json", "1", bound),
				"configs/free.json": configOf("free", "json", "1", ""), "schemas/s.json": `{"type":"integer"}`})
			good := w.last().SHA
			w.repo.Push(ada, "Break the schema", map[string]string{"schemas/s.json": schema.text})
			token := w.last().SHA
			for range 2 { // the second time it is known
				if d := w.detail(); d.BrokenDocuments != 1 || d.Broken[0].Type != "schema" || *d.Broken[0].Key != "s" || d.Broken[0].Since != token || *d.Broken[0].ServedFrom != good || !strings.Contains(d.Broken[0].Problem, schema.why) {
					t.Errorf("the detail is %+v", d)
				}
			}
			put := func(key, text string, dry bool) error {
				_, err := w.boss().Changes().PutDocument(ctx, document.Config, key, change.DocumentPut{
					Request: change.Request{DryRun: dry}, Document: node(t, text), ExpectedCommitSHA: &token})
				return err
			}
			patch := func(scope string, dry bool) error {
				_, err := w.boss().Changes().Patch(ctx, document.Config, "c", scope, change.ValuePatch{Request: change.Request{DryRun: dry}, Value: node(t, `"x"`)})
				return err
			}
			for what, err := range map[string]error{
				"patch":                  patch("default", false),
				"patch of another scope": patch("staging", false),
				"patch, dry":             patch("default", true),
				"put":                    put("c", configOf("c", "json", `"x"`, bound), false),
				"put, dry":               put("c", configOf("c", "json", `"x"`, bound), true),
				"put of a variant":       put("c", configOf("c", "json", `1`, bound+`,"variants":[{"value":{"type":"json","value":"x"}}]`), false),
				"put that binds":         put("free", configOf("free", "json", `1`, bound), false),
			} {
				f := wantRefusal(t, err, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
				if got := pointers(f, "issues"); got != "/schemaKey" {
					t.Errorf("%s: issues at %q", what, got)
				}
				for _, words := range []string{`the schema "s"`, schema.why, "repair schemas/s.json"} {
					if err != nil && !strings.Contains(err.Error(), words) {
						t.Errorf("%s: %q is not in %v", what, words, err)
					}
				}
			}
			wantRefusal(t, put("c", configOf("c", "json", "1", bound+`,"description":"new","tags":["a"]`), false), "ok")
			token = w.last().SHA
			wantRefusal(t, put("c", configOf("c", "json", `"x"`, ""), true), "ok") // bound to none any more
			must.Get(w.putSchema("s", `{"type":["integer","string"]}`, &token))(t)
			wantRefusal(t, patch("default", false), "ok")
			if d := w.detail(); d.BrokenDocuments != 0 {
				t.Errorf("after the repair the detail is %+v", d)
			}
		})
	}
}

// TestValuesUnderASchemaThatIsMissing are written with a warning: the write does not
// bring the problem in, and a config must be changeable in an emergency.
func TestValuesUnderASchemaThatIsMissing(t *testing.T) {
	const bound = `,"schemaKey":"s"`
	w := newWorld(t, map[string]string{"configs/c.json": configOf("c", "json", "1", bound), "schemas/s.json": `{"type":"integer"}`, "schemas/t.json": `{"type":"string"}`})
	w.repo.Push(ada, "Remove the schema", map[string]string{"schemas/s.json": ""})
	warned := func(warnings []document.Issue) bool {
		return slices.ContainsFunc(warnings, func(i document.Issue) bool {
			return i.Pointer == "/schemaKey" && strings.Contains(i.Message, `there is no schema "s"`)
		})
	}
	patch := func(dry, warns bool) {
		t.Helper()
		r, err := w.boss().Changes().Patch(ctx, document.Config, "c", "staging", change.ValuePatch{Request: change.Request{DryRun: dry}, Value: node(t, `"x"`)})
		wantRefusal(t, err, "ok")
		if err == nil && warned(r.Warnings) != warns {
			t.Errorf("a patch, dry %v, is answered with the warnings %v", dry, r.Warnings)
		}
	}
	put := func(value, more string) error {
		token := w.last().SHA
		r, err := w.boss().Changes().PutDocument(ctx, document.Config, "c", change.DocumentPut{
			Request: change.Request{DryRun: true}, Document: node(t, configOf("c", "json", value, more)), ExpectedCommitSHA: &token})
		if err == nil && warned(r.Warnings) != strings.HasPrefix(more, bound) {
			t.Errorf("a put of %s with %s is answered with the warnings %v", value, more, r.Warnings)
		}
		return err
	}
	patch(true, true)
	patch(false, true)
	wantRefusal(t, put(`"y"`, bound), "ok")
	f := wantRefusal(t, put("1", `,"schemaKey":"u"`), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION")
	if got := pointers(f, "issues"); got != "/schemaKey" {
		t.Errorf("naming another that is missing: issues at %q", got)
	}
	wantRefusal(t, put("1", bound+`,"description":"new"`), "ok")
	wantRefusal(t, put(`"x"`, ""), "ok")
	wantRefusal(t, put(`"x"`, `,"schemaKey":"t"`), "ok")
	w.repo.Push(ada, "Bring it back", map[string]string{"schemas/s.json": `{"type":"string"}`})
	patch(false, false)
}

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
	ended(w.putSchema("limits", `{"type":"integer"}`, &r.CommitSHA))(t, "409 CONFLICT STALE_COMMIT_SHA")
	for _, key := range []string{"limits", "LIMITS"} {
		f := ended(w.putSchema(key, `{}`, nil))(t, "409 CONFLICT ALREADY_EXISTS")
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
		if f := ended(w.boss().Changes().PutDocument(ctx, workspace.SchemaType, "s", change.DocumentPut{Request: change.Request{DryRun: true}, Document: node(t, text), ExpectedCommitSHA: &token}))(t, want); strings.HasPrefix(want, "422") && !strings.Contains(f.Message, `"good"`) {
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
	if f := ended(w.boss().Changes().PutDocument(ctx, document.Segment, "s", change.DocumentPut{Document: document1, ExpectedCommitSHA: &token}))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"); !strings.Contains(f.Message, "circle") {
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
	if f := wantRefusal(t, put(20), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"); !strings.Contains(f.Message, "steps together") {
		t.Error(f.Message)
	}
}

// evaluates is the value of a flag in an environment, at a commit or now.
func evaluates(t *testing.T, s *control.Session, environment string, at *string, key string) string {
	t.Helper()
	answer, err := s.Evaluate(ctx, control.EvaluationQuery{Environment: environment, At: at,
		Question: explanation.Question{Keys: []string{key}, Explain: true}})
	if err != nil {
		return refusal(err)
	}
	e := answer.Evaluations[key]
	if e == nil {
		return strings.Join(answer.Missing, " ") + " is missing"
	}
	if e.Truncated {
		t.Errorf("%s is not explained", key)
	}
	return string(e.Value)
}

func TestEvaluateNowAndThen(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	first := w.last().SHA
	w.repo.Push(ada, "On", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	second := w.last().SHA
	w.repo.Push(ada, "Break and add", map[string]string{path("f"): "{", path("g"): boolFlag("g", "")})
	third := w.last().SHA
	w.repo.Push(ada, "Other environments", map[string]string{"svc.json": `{"environments": ["later"]}`})
	for _, tt := range []struct {
		environment string
		at          *string
		key, want   string
	}{
		{"later", nil, "f", "true"}, // as it last was good
		{"later", nil, "g", "false"},
		{"production", nil, "f", "404 NOT_FOUND"},
		{"production", ptr(first), "f", "false"},
		{"later", ptr(first), "f", "404 NOT_FOUND"},
		{"production", ptr(first), "g", "g is missing"},
		{"production", ptr(second[:12]), "f", "true"},
		{"production", ptr(third), "f", "f is missing"},
		{"later", ptr(w.last().SHA), "f", "true"},
		{"later", ptr("0123abcd"), "f", "404 NOT_FOUND"},
		{"later", ptr("HEAD"), "f", "400 BAD_REQUEST"},
	} {
		for range 2 { // the second time from memory
			if got := evaluates(t, w.boss(), tt.environment, tt.at, tt.key); got != tt.want {
				at := "now"
				if tt.at != nil {
					at = *tt.at
				}
				t.Errorf("%s in %s, %s: %s, want %s", tt.key, tt.environment, at, got, tt.want)
			}
		}
	}
}

// TestAWarmEvaluationReadsNoMore than any other read, and one of the past only
// finds its commit.
func TestAWarmEvaluationReadsNoMore(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	first := w.last().SHA
	w.repo.Push(ada, "On", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	for _, at := range []*string{nil, &first} {
		evaluates(t, w.boss(), "production", at, "f")
		before := map[string]int{}
		for _, method := range []string{"Snapshot", "Past", "At", "History"} {
			before[method] = w.repo.Count(method)
		}
		evaluates(t, w.boss(), "production", at, "f")
		for method, n := range before {
			want := map[bool]int{true: 1}[method == "Snapshot" || method == "At" && at != nil]
			if got := w.repo.Count(method) - n; got != want {
				t.Errorf("at %v: %s was called %d times, want %d", at != nil, method, got, want)
			}
		}
	}
}

func TestAnEnvironmentThatIsTooLarge(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	settings := w.settings()
	settings.MaxCompiled = 100
	w.service = control.New(settings)
	if got := evaluates(t, w.boss(), "production", nil, "f"); got != "503 SERVICE_UNAVAILABLE" {
		t.Error(got)
	}
}

package control_test

import (
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
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

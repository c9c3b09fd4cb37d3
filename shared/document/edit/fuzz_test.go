package edit

import (
	"encoding/json"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
)

func fuzzSeeds(f *testing.F) {
	bare := []string{`true`, `"abc"`, `5.0`, `[{"value":true,"percent":33.333},{"value":false,"percent":66.667}]`, `["a"]`, `null`}
	documents := []string{
		documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.Quarter+`]}]`),
		documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"abc","confidential":true,"decryptWith":"k"}}`, `,"variants":[{"value":{"type":"string","value":"abc"}}]`),
		documents.Flag("int", `{"criteria":[],"value":{"type":"provided","value":{}}}`, `,"environments":null`),
		documents.LevelDocument("com.acme.cart,web=DEBUG ? com=INFO com=WARN *=WARN", `{"id":"production","rules":[]}`),
	}
	for i, document := range documents {
		for j, value := range bare {
			f.Add([]byte(document), []string{"default", "production"}[(i+j)%2], []byte(value), j%2 == 0)
		}
	}
}

// FuzzReads looks at any JSON at all as a document: what is broken is shown as
// far as it goes.
func FuzzReads(f *testing.F) {
	fuzzSeeds(f)
	f.Add([]byte(`{"default":7,"environments":{},"variants":"x","tags":[null],"access":[]}`), "", []byte(`[null]`), false)
	f.Fuzz(func(t *testing.T, text []byte, scope string, other []byte, _ bool) {
		before, err := jsontree.Parse(text)
		if err != nil {
			return
		}
		after, err := jsontree.Parse(other)
		if err != nil {
			return
		}
		for _, tree := range []*jsontree.Node{before, after} {
			d := document.View(tree)
			active := []document.Active{{Name: scope, Production: true}}
			for _, v := range []any{
				project.OutlineFlag(d), project.DetailFlag(tree, active, project.Commit{}), project.SummarizeConfig(d, project.Commit{}), project.DetailConfig(tree, project.Commit{}),
				project.SummarizeSegment(d, ""), project.DetailSegment(tree, ""), project.SummarizeLogLevel(tree, "", ""),
			} {
				if _, err := json.Marshal(v); err != nil {
					t.Fatal(err)
				}
			}
		}
		same := document.SameDocument(before, after)
		scopes, metadata, _ := activity.TouchedScopes(before, after)
		if same != (len(activity.Diff(before, after)) == 0) || same != (len(scopes) == 0) || same && metadata {
			t.Fatalf("same %v, said %q, touched %v", same, activity.Diff(before, after), scopes)
		}
		activity.Diff(nil, after)
		activity.Diff(before, nil)
	})
}

package edit

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
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

func FuzzEdits(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte, scope string, value []byte, replace bool) {
		tree, err := jsontree.Parse(text)
		if err != nil {
			return
		}
		if _, issues := document.Decode(tree); len(issues) > 0 || !utf8.ValidString(scope) {
			return // an environment's name comes out of the workspace file
		}
		bare, err := jsontree.Parse(value)
		if err != nil {
			return
		}
		word, _ := bare.Text()
		place := Place{Scope: scope, ReplaceTargeting: replace}
		for name, edit := range map[string]edits{
			"enabled": func(tree *jsontree.Node) (*Edited, error) { return SetEnabled(tree, place, replace) },
			"value":   func(tree *jsontree.Node) (*Edited, error) { return SetValue(tree, place, bare) },
			"rollout": func(tree *jsontree.Node) (*Edited, error) { return SetRollout(tree, place, bare) },
			"level":   func(tree *jsontree.Node) (*Edited, error) { return SetLevel(tree, scope, "", word) },
			"target":  func(tree *jsontree.Node) (*Edited, error) { return SetLevel(tree, scope, word, "DEBUG") },
		} {
			checkEdit(t, name, tree, edit)
		}
	})
}

func checkEdit(t *testing.T, name string, tree *jsontree.Node, edit edits) {
	given := string(tree.Encode())
	e, err := edit(tree)
	if err != nil {
		return
	}
	if string(tree.Encode()) != given {
		t.Fatalf("%s changed the tree that it was given", name)
	}
	stored, err := jsontree.Parse(e.Tree.Encode())
	if err != nil {
		t.Fatalf("%s made what cannot be read: %v", name, err)
	}
	if _, issues := document.Decode(stored); len(issues) > 0 {
		t.Fatalf("%s made what cannot be decoded: %v\n%s", name, issues, stored.Compact())
	}
	if again, err := edit(stored); err != nil || again.Changed {
		t.Fatalf("%s changes %s again: %v", name, stored.Compact(), err)
	}
	if e.Changed != (len(activity.Diff(tree, e.Tree)) > 0) {
		t.Fatalf("%s: changed %v, said %q", name, e.Changed, activity.Diff(tree, e.Tree))
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
				must.Get(json.Marshal(v))(t)
			}
		}
		same := document.SameDocument(before, after)
		scopes := activity.TouchedScopes(before, after)
		if same != (len(activity.Diff(before, after)) == 0) || same != (len(scopes) == 0) {
			t.Fatalf("same %v, said %q, touched %v", same, activity.Diff(before, after), scopes)
		}
		activity.Diff(nil, after)
		activity.Diff(before, nil)
	})
}

package document

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// damage changes a few places of a document at random.
func damage(t *rapid.T, tree *jsontree.Node) {
	odd := []string{`null`, `true`, `0`, `-1`, `1.5`, `1e999999999`, `""`, `" 1 "`, `"x"`, `"bool"`, `"weighted_values"`, `"provided"`, `"log_level"`,
		`"segment"`, `"feature_flag"`, `"[1]"`, `"P1D"`, `"PT1.5H"`, `[]`, `[null]`, `{}`, `{"type": "int", "value": "x"}`}
	for range rapid.IntRange(1, 3).Draw(t, "damages") {
		place := rapid.SampledFrom(slices.Collect(tree.All())).Draw(t, "place")
		if len(place.Members) > 0 && rapid.Bool().Draw(t, "delete") {
			i := rapid.IntRange(0, len(place.Members)-1).Draw(t, "member")
			place.Delete(place.Members[i].Name)
			continue
		}
		if len(place.Members) > 0 && rapid.Bool().Draw(t, "add") {
			names := []string{"sendToClientSdk", "decryptWith", "confidential", "environments", "variants", "access", "schemaKey", "type", "id"}
			replacement, _ := jsontree.Parse([]byte(rapid.SampledFrom(odd).Draw(t, "added")))
			place.Set(rapid.SampledFrom(names).Draw(t, "name"), replacement)
			continue
		}
		replacement, _ := jsontree.Parse([]byte(rapid.SampledFrom(odd).Draw(t, "replacement")))
		*place = *replacement
	}
}

func TestDamagedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := must.Get(jsontree.Parse([]byte(rapid.SampledFrom([]string{threeRuleFlag, secretConfig, logLevels, betaUsers}).Draw(t, "document"))))(t)
		damage(t, tree)
		holdValidate(t, tree)
	})
}

// holdValidate checks what must be true of any document at all.
func holdValidate(t interface {
	Helper()
	Fatalf(string, ...any)
}, tree *jsontree.Node) {
	t.Helper()
	_, decoding := Decode(tree)
	issues := Validate(tree)
	if len(issues) == 0 && len(decoding) > 0 {
		t.Fatalf("Validate takes what Decode refuses: %q", lines(decoding))
	}
	for _, found := range storedSchema().Check(tree) {
		object := found.Pointer[:max(0, strings.LastIndex(found.Pointer, "/"))] + "/"
		if !slices.ContainsFunc(issues, func(issue Issue) bool { return strings.HasPrefix(issue.Pointer+"/", object) }) {
			t.Fatalf("the schema refuses %+v, and Validate says %q", found, lines(issues))
		}
	}
	if !slices.Equal(issues, distinct(slices.Clone(issues))) {
		t.Fatalf("unordered or repeated: %q", lines(issues))
	}
	for _, issue := range issues {
		parent := issue.Pointer[:max(0, strings.LastIndex(issue.Pointer, "/"))]
		if issue.Message == "" || tree.At(parent) == nil {
			t.Fatalf("%q points nowhere", lines([]Issue{issue}))
		}
	}
	if fresh := NewIssues(issues, issues); len(fresh) > 0 {
		t.Fatalf("new in the same document: %q", lines(fresh))
	}
}

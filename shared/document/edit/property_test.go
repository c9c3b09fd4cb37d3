package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

// secretWord stands in every secret that the generator makes.
const secretWord = "hush"

// oddly is one member that this code does not know, or none.
func oddly(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", `,"x-note":"\u0041\/"`, `,"x-number":1.0e+2`, `,"x-deep":{"b":[1.50,{}],"a":9007199254740993}`}).Draw(t, "odd")
}

// oddValue is a Value object of a type, its members in either order.
func oddValue(t *rapid.T, valueType document.ValueType) string {
	content := rapid.SampledFrom(map[document.ValueType][]string{
		document.BoolValue:   {"true", "false"},
		document.IntValue:    {"1", "1.0", `"1"`, "9007199254740993", "1e2", "-0"},
		document.StringValue: {`"a"`, `"\u0061"`, `"b\nc"`, `"` + secretWord + `"`},
		document.JSONValue:   {`{"b":1.0,"a":[]}`, "null", `"a"`, "1e5"},
	}[valueType]).Draw(t, "content")
	marker := rapid.SampledFrom([]string{"", "", `,"confidential":false`, `,"confidential":true`}).Draw(t, "marker")
	if strings.Contains(content, secretWord) {
		marker = rapid.SampledFrom([]string{`,"confidential":true`, `,"decryptWith":"k"`}).Draw(t, "secret")
	}
	parts := rapid.Permutation([]string{`"type":"` + string(valueType) + `"`, `"value":` + content}).Draw(t, "order")
	return "{" + strings.Join(parts, ",") + marker + oddly(t) + "}"
}

func oddRule(t *rapid.T, valueType document.ValueType, criterion string) string {
	value := oddValue(t, valueType)
	if rapid.IntRange(0, 3).Draw(t, "weighted") == 0 {
		arms := fmt.Sprintf(`[{"value":%s,"weight":1e3},{"weight":99000.0,"value":%s%s}]`, value, oddValue(t, valueType), oddly(t))
		value = `{"type":"weighted_values","value":{"weightedValues":` + arms + oddly(t) + `}}`
	}
	return `{"criteria":[` + criterion + `],"value":` + value + oddly(t) + `}`
}

func oddRules(t *rapid.T, valueType document.ValueType) string {
	var rules []string
	for i := range rapid.IntRange(0, 3).Draw(t, "targeting") {
		rules = append(rules, oddRule(t, valueType, fmt.Sprintf(`{"operator":"PROP_IS_ONE_OF","propertyName":"user.n%d","valueToMatch":{"type":"string_list","value":["x"]}%s}`, i, oddly(t))))
	}
	if rapid.Bool().Draw(t, "fallback") {
		rules = append(rules, oddRule(t, valueType, `{"operator":"ALWAYS_TRUE"`+oddly(t)+`}`))
	}
	return `{"rules":[` + strings.Join(rules, ",") + `]` + oddly(t)
}

// oddDocument is a valid document with fields and spellings that an edit has
// no business with.
func oddDocument(t *rapid.T) *jsontree.Node {
	valueType := rapid.SampledFrom([]document.ValueType{document.BoolValue, document.BoolValue, document.IntValue, document.StringValue, document.JSONValue}).Draw(t, "valueType")
	members := []string{
		`"key":"f"`, `"type":"feature_flag"`, `"valueType":"` + string(valueType) + `"`,
		`"default":` + oddRules(t, valueType) + `}`,
	}
	if rapid.Bool().Draw(t, "environments") {
		var entries []string
		for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"staging", "production", "eu"}), rapid.ID).Draw(t, "ids") {
			entries = append(entries, oddRules(t, valueType)+`,"id":"`+id+`"}`)
		}
		members = append(members, `"environments":[`+strings.Join(entries, ",")+`]`)
	}
	if rest := strings.TrimPrefix(oddly(t), ","); rest != "" {
		members = append(members, rest)
	}
	text := "{" + strings.Join(rapid.Permutation(members).Draw(t, "members"), ",") + "}"
	tree, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if issues := document.Validate(tree); len(issues) > 0 {
		t.Fatalf("%v in %s", issues, text)
	}
	return tree
}

// oddEdit is any edit that the document's type has.
func oddEdit(t *rapid.T, tree *jsontree.Node) (place Place, name string, edit edits) {
	place.Scope = rapid.SampledFrom([]string{"default", "staging", "production"}).Draw(t, "scope")
	place.ReplaceTargeting = rapid.IntRange(0, 3).Draw(t, "replace") == 0
	names := []string{"value", "rollout"}
	if valueTypeOf(tree) == document.BoolValue {
		names = append(names, "enabled")
	}
	name = rapid.SampledFrom(names).Draw(t, "edit")
	on := rapid.Bool().Draw(t, "on")
	bare := map[document.ValueType][]string{
		document.BoolValue: {"true", "false"}, document.IntValue: {"1", "100.0", "-5"}, document.StringValue: {`"a"`, `"z"`}, document.JSONValue: {`{"a":[],"b":1}`, "null"},
	}[valueTypeOf(tree)]
	first := rapid.SampledFrom(bare).Draw(t, "first")
	second := rapid.SampledFrom(bare).Filter(func(value string) bool { return value != first }).Draw(t, "second")
	rollout := fmt.Sprintf(`[{"value":%s,"percent":1},{"percent":99.000,"value":%s}]`, first, second)
	return place, name, func(tree *jsontree.Node) (*Edited, error) {
		switch name {
		case "enabled":
			return SetEnabled(tree, place, on)
		case "value":
			bare, _ := jsontree.Parse([]byte(first))
			return SetValue(tree, place, bare)
		}
		shares, _ := jsontree.Parse([]byte(rollout))
		return SetRollout(tree, place, shares)
	}
}

// applied draws a document and applies an edit to it. Ciphertext is asked for
// where a number would be; then there is nothing to look at.
func applied(t *rapid.T) (tree *jsontree.Node, place Place, edit edits, e *Edited) {
	tree = oddDocument(t)
	place, _, edit = oddEdit(t, tree)
	e, err := edit(tree)
	var refused *RequestError
	if errors.As(err, &refused) {
		if strings.Contains(err.Error(), secretWord) {
			t.Fatalf("a secret in an error: %v", err)
		}
		t.Skip(err)
	}
	must.Do(t, err)
	return tree, place, edit, e
}

// elsewhere is the text of a document without the rules of one scope.
func elsewhere(tree *jsontree.Node, scope string) string {
	tree = tree.Clone()
	if scope == document.DefaultScope {
		tree.Get("default").Set("rules", jsontree.NewArray())
		return string(tree.Encode())
	}
	if list := tree.Get("environments"); list != nil {
		list.Items = slices.DeleteFunc(list.Items, func(entry *jsontree.Node) bool {
			id, _ := entry.Get("id").Text()
			return id == scope
		})
		if len(list.Items) == 0 {
			tree.Delete("environments")
		}
	}
	return string(tree.Encode())
}

func TestEditsTouchNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, place, edit, e := applied(t)
		if was, is := elsewhere(tree, place.Scope), elsewhere(e.Tree, place.Scope); was != is {
			t.Fatalf("outside %s\n%s\nbecame\n%s", place.Scope, was, is)
		}
		was := e.Previously[:document.TargetingCount(e.Previously)]
		is := e.Rules[:document.TargetingCount(e.Rules)]
		if place.ReplaceTargeting {
			was = nil
		}
		if rulesText(was) != rulesText(is) || len(is) != len(e.Rules)-1 || e.PreservedTargetingRuleCount != len(is) {
			t.Fatalf("the rules before the fallback\n%s\nbecame\n%s", rulesText(was), rulesText(is))
		}
		if issues := document.Validate(e.Tree); len(issues) > 0 {
			t.Fatalf("the edit made problems: %v", issues)
		}
		scopes := activity.TouchedScopes(tree, e.Tree)
		metadata := !jsontree.Equal(tree.Without("default", "environments"), e.Tree.Without("default", "environments")) ||
			!jsontree.Equal(tree.Get("default").Without("rules"), e.Tree.Get("default").Without("rules"))
		if e.Changed && !slices.Equal(scopes, []string{place.Scope}) || metadata || e.Changed == document.SameDocument(tree, e.Tree) {
			t.Fatalf("changed %v, touched %v, metadata %v", e.Changed, scopes, metadata)
		}
		stored := must.Get(jsontree.Parse(e.Tree.Encode()))(t)
		if again, err := edit(stored); err != nil || again.Changed || rulesText(again.Rules) != rulesText(e.Rules) {
			t.Fatalf("the second time: %+v, %v", again, err)
		}
	})
}

// shuffled writes the same document otherwise.
func shuffled(t *rapid.T, n *jsontree.Node) *jsontree.Node {
	switch n.Kind {
	case jsontree.Object:
		members := rapid.Permutation(n.Members).Draw(t, "members")
		other := jsontree.NewObject()
		for _, m := range members {
			other.Set(m.Name, shuffled(t, m.Value))
		}
		return other
	case jsontree.Array:
		list := jsontree.NewArray()
		for _, item := range n.Items {
			list.Items = append(list.Items, shuffled(t, item))
		}
		return list
	case jsontree.String:
		text, _ := n.Text()
		return jsontree.NewString(text)
	case jsontree.Number:
		respelt, _ := jsontree.Parse([]byte(jsontree.NumberText(n.Literal())))
		return respelt
	}
	return n
}

func TestSpellingDoesNotCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, _, edit, e := applied(t)
		other := shuffled(t, tree)
		if !document.SameDocument(tree, other) || tree.Canonical() != other.Canonical() || len(activity.Diff(tree, other)) > 0 {
			t.Fatalf("%s is not %s", tree.Compact(), other.Compact())
		}
		if scopes := activity.TouchedScopes(tree, other); len(scopes) > 0 {
			t.Fatalf("touched %v", scopes)
		}
		if same, err := edit(other); err != nil || same.Changed != e.Changed || !document.SameDocument(same.Tree, e.Tree) {
			t.Fatalf("edited, %s is not %s", same.Tree.Compact(), e.Tree.Compact())
		}
	})
}

func TestNoSecretInWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := oddDocument(t), oddDocument(t)
		messages := slices.Concat(activity.Diff(before, after), activity.Diff(nil, after), activity.Diff(after, nil))
		if _, _, _, e := applied(t); e.Changed {
			messages = append(messages, activity.Diff(before, e.Tree)...)
		}
		if strings.Contains(fmt.Sprint(messages)+activity.Subject(messages), secretWord) {
			t.Fatalf("a secret got out: %v", messages)
		}
		if document.SameDocument(before, after) != (len(activity.Diff(before, after)) == 0) {
			t.Fatal("a change without a word, or a word without a change")
		}
	})
}

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
				project.OutlineFlag(d), project.DetailFlag(tree, active, project.Commit{}, time.Now()), project.OutlineConfig(d), project.DetailConfig(tree, project.Commit{}, time.Now()),
				project.SummarizeSegment(d, ""), project.DetailSegment(tree, ""), project.SummarizeLogLevel(tree, "", ""),
			} {
				must.Get(json.Marshal(v))(t)
			}
		}
		same := document.SameDocument(before, after)
		if scopes := activity.TouchedScopes(before, after); same != (len(activity.Diff(before, after)) == 0) || same != (len(scopes) == 0) {
			t.Fatalf("same %v, said %q, touched %v", same, activity.Diff(before, after), scopes)
		}
		activity.Diff(nil, after)
		activity.Diff(before, nil)
	})
}

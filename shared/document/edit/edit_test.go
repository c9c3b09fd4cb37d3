package edit

import (
	"errors"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

// edits is one edit of a table: what is applied, and to what.
type edits func(tree *jsontree.Node) (*Edited, error)

func enabling(scope string, on bool) edits {
	return func(tree *jsontree.Node) (*Edited, error) { return SetEnabled(tree, Place{Scope: scope}, on) }
}

func serving(t *testing.T, scope, value string) edits {
	bare := documents.Tree(t, value)
	return func(tree *jsontree.Node) (*Edited, error) { return SetValue(tree, Place{Scope: scope}, bare) }
}

func ramping(t *testing.T, scope, rollout string) edits {
	shares := documents.Tree(t, rollout)
	return func(tree *jsontree.Node) (*Edited, error) { return SetRollout(tree, Place{Scope: scope}, shares) }
}

func replacing(scope string, on bool) edits {
	return func(tree *jsontree.Node) (*Edited, error) {
		return SetEnabled(tree, Place{Scope: scope, ReplaceTargeting: true}, on)
	}
}

func rulesText(rules []*jsontree.Node) string {
	var texts []string
	for _, rule := range rules {
		texts = append(texts, string(rule.Compact()))
	}
	return strings.Join(texts, ",")
}

func TestEdits(t *testing.T) {
	production := func(rules string) string {
		return `,"environments":[{"id":"staging","rules":[` + documents.ServesTrue + `]},{"id":"production","rules":[` + rules + `],"note":1.0}]`
	}
	for _, tt := range []struct {
		name                string
		document            string
		edit                edits
		want                string // the document afterwards; "" when nothing changes
		preserved, replaced int
	}{
		{"toggle the default", documents.Flag("bool", documents.ServesFalse, ""), enabling("default", true),
			documents.Flag("bool", documents.ServesTrue, ""), 0, 0},
		{"toggle what is so already", documents.Flag("bool", documents.ServesFalse, ""), enabling("default", false), "", 0, 0},
		{"toggle keeps targeting", documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro+","+documents.TargetsBeta+","+documents.ServesFalse)), enabling("production", true),
			documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro+","+documents.TargetsBeta+","+documents.ServesTrue)), 2, 0},
		{"an unchanged edit counts too", documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesTrue)), enabling("production", true), "", 1, 0},
		{"no fallback: one is appended", documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro)), enabling("production", false),
			documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesFalse)), 1, 0},
		{"no fallback: the default rules' is as secret", documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"abc","decryptWith":"k"}}`, production(documents.TargetsPro)), serving(t, "production", `"def"`),
			documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"abc","decryptWith":"k"}}`, production(documents.TargetsPro+`,{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"def","decryptWith":"k"}}`)), 1, 0},
		{"a catch-all with a rule behind it is no fallback", documents.Flag("bool", documents.ServesTrue+","+documents.TargetsPro, ""), enabling("default", false),
			documents.Flag("bool", documents.ServesTrue+","+documents.TargetsPro+","+documents.ServesFalse, ""), 2, 0},
		{"a rollout that is the fallback is replaced", documents.Flag("bool", documents.Quarter, ""), enabling("default", false),
			documents.Flag("bool", documents.ServesFalse, ""), 0, 0},
		{"a rollout above the fallback is kept", documents.Flag("bool", documents.Quarter+","+documents.ServesFalse, ""), enabling("default", true),
			documents.Flag("bool", documents.Quarter+","+documents.ServesTrue, ""), 1, 0},
		{"seeded from the default rules", documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[]`), enabling("production", true),
			documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.TargetsPro+","+documents.ServesTrue+`]}]`), 1, 0},
		{"an empty list is seeded", documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, production("")), enabling("production", true),
			documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, production(documents.TargetsPro+","+documents.ServesTrue)), 1, 0},
		{"an environment that inherits is pinned", documents.Flag("bool", documents.ServesFalse, `,"environments":[]`), enabling("production", false),
			documents.Flag("bool", documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.ServesFalse+`]}]`), 0, 0},
		{"environments put in where they belong", documents.Flag("bool", documents.ServesFalse, `,"variants":[]`), enabling("production", true),
			documents.Flag("bool", documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.ServesTrue+`]}],"variants":[]`), 0, 0},
		{"a document without default rules", `{"key":"f","valueType":"bool","environments":null}`, enabling("default", true),
			`{"key":"f","valueType":"bool","default":{"rules":[` + documents.ServesTrue + `]},"environments":null}`, 0, 0},
		{"environments that are null", `{"key":"f","valueType":"bool","environments":null}`, enabling("production", true),
			`{"key":"f","valueType":"bool","environments":[{"id":"production","rules":[` + documents.ServesTrue + `]}]}`, 0, 0},
		{"replace targeting", documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro+","+documents.TargetsBeta+","+documents.ServesFalse)), replacing("production", true),
			documents.Flag("bool", documents.ServesFalse, production(documents.ServesTrue)), 0, 2},
		{"replace targeting that has no fallback", documents.Flag("bool", documents.ServesFalse, production(documents.TargetsPro)), replacing("production", true),
			documents.Flag("bool", documents.ServesFalse, production(documents.ServesTrue)), 0, 1},
		{"replace nothing but the fallback", documents.Flag("bool", documents.ServesFalse, production(documents.ServesFalse)), replacing("production", true),
			documents.Flag("bool", documents.ServesFalse, production(documents.ServesTrue)), 0, 0},
		{"replace what is so already", documents.Flag("bool", documents.ServesFalse, production(documents.ServesTrue)), replacing("production", true), "", 0, 0},
		{"replace what is only inherited", documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[]`), replacing("production", true),
			documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.ServesTrue+`]}]`), 0, 0},
		{"no number is respelled", documents.Flag("double", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"double","value":1.0}}`, ""), serving(t, "default", "1"), "", 0, 0},
		{"a stored string that reads as the number", documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"5"}}`, ""), serving(t, "default", "5.0"), "", 0, 0},
		{"a number as it was written", documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"value":"5","type":"int"}}`, ""), serving(t, "default", "9007199254740993"),
			documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"value":9007199254740993,"type":"int"}}`, ""), 0, 0},
		{"a provided value becomes a plain one", documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":"X"},"confidential":true}}`, ""), serving(t, "default", `"a"`),
			documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"a","confidential":true}}`, ""), 0, 0},
		{"a secret stays one", documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"abc","confidential":true,"decryptWith":"k","x":1}}`, ""), serving(t, "default", `"def"`),
			documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"def","confidential":true,"decryptWith":"k","x":1}}`, ""), 0, 0},
		{"ciphertext of a number", documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"abc","decryptWith":"k"}}`, ""), serving(t, "default", `"def"`),
			documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"def","decryptWith":"k"}}`, ""), 0, 0},
		{"a secret variant is served as a secret", documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"a"}}`, `,"variants":[{"value":{"type":"string","value":"s","confidential":true}}]`), serving(t, "default", `"s"`),
			documents.Flag("string", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"s","confidential":true}}`, `,"variants":[{"value":{"type":"string","value":"s","confidential":true}}]`), 0, 0},
		{"a toggle is no ciphertext", documents.Flag("bool", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":"abc","decryptWith":"k"}}`, ""), enabling("default", false),
			documents.Flag("bool", documents.ServesFalse, ""), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := documents.Tree(t, tt.document)
			given := string(tree.Compact())
			e := must.Get(tt.edit(tree))(t)
			want := tt.want
			if want == "" {
				want = given
			}
			if got := string(e.Tree.Compact()); got != want || e.Changed != (tt.want != "") {
				t.Errorf("changed %v:\n%s\nwant\n%s", e.Changed, got, want)
			}
			if e.PreservedTargetingRuleCount != tt.preserved || e.ReplacedTargetingRuleCount != tt.replaced {
				t.Errorf("preserved %d, replaced %d; want %d, %d", e.PreservedTargetingRuleCount, e.ReplacedTargetingRuleCount, tt.preserved, tt.replaced)
			}
			if string(tree.Compact()) != given {
				t.Error("the edit changed the tree that it was given")
			}
			if !strings.Contains(want, `"rules":[`+rulesText(e.Rules)+`]`) || len(e.View) != len(e.Rules) {
				t.Errorf("rules %s", rulesText(e.Rules))
			}
			if again, err := tt.edit(e.Tree); err != nil || again.Changed || again.Tree != e.Tree {
				t.Errorf("the second time: %+v, %v", again, err)
			}
		})
	}
}

func TestEditsTellWhatHeldBefore(t *testing.T) {
	tree := documents.Tree(t, documents.Flag("bool", documents.TargetsPro+","+documents.ServesFalse, `,"environments":[{"id":"staging","rules":[`+documents.ServesTrue+`]}]`))
	for scope, want := range map[string]string{
		"default": documents.TargetsPro + "," + documents.ServesFalse, "production": documents.TargetsPro + "," + documents.ServesFalse, "staging": documents.ServesTrue,
	} {
		e, err := SetEnabled(tree, Place{Scope: scope}, true)
		if err != nil || rulesText(e.Previously) != want {
			t.Errorf("%s: %s, %v", scope, rulesText(e.Previously), err)
		}
	}
}

func TestRefusedEdits(t *testing.T) {
	fallback := func(valueType, content string) string {
		return documents.Flag(valueType, `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"`+valueType+`","value":`+content+`}}`, "")
	}
	deep := strings.Repeat("[", jsontree.MaxDepth-2) + strings.Repeat("]", jsontree.MaxDepth-2)
	long := `"` + strings.Repeat("x", document.MaxSize) + `"`
	for _, tt := range []struct {
		name, document string
		edit           edits
		pointer, words string
	}{
		{"enable a string", fallback("string", `"a"`), enabling("default", true), "/enabled", "type string, so send value"},
		{"a string for a bool", fallback("bool", `true`), serving(t, "default", `"true"`), "/value", "a boolean, not a string"},
		{"a fraction for an int", fallback("int", `1`), serving(t, "default", `1.5`), "/value", "whole number"},
		{"too large for an int", fallback("int", `1`), serving(t, "default", `9223372036854775808`), "/value", "64 bits"},
		{"a string for an int", fallback("int", `"1"`), serving(t, "default", `"2"`), "/value", "is a number, not a string"},
		{"too large for a double", fallback("double", `1`), serving(t, "default", `1e999`), "/value", "range"},
		{"a loose duration", fallback("duration", `"PT1S"`), serving(t, "default", `"PT1.5M"`), "/value", "PT30S"},
		{"a number for a duration", fallback("duration", `"PT1S"`), serving(t, "default", `30`), "/value", "a string, not a number"},
		{"a list of more than strings", fallback("string_list", `[]`), serving(t, "default", `["a",1]`), "/value", "strings only"},
		{"null for a string", fallback("string", `"a"`), serving(t, "default", `null`), "/value", "a string, not null"},
		{"JSON in a string", fallback("json", `1`), serving(t, "default", `"{\"a\":1}"`), "/value", "native JSON"},
		{"an unknown type", fallback("colour", `1`), serving(t, "default", `1`), "/value", "whole document"},
		{"no ciphertext", documents.Flag("int", `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"x","decryptWith":"k"}}`, ""), serving(t, "default", `5`), "/value", "ciphertext"},
		{"no value", fallback("bool", `true`), func(tree *jsontree.Node) (*Edited, error) { return SetValue(tree, Place{Scope: "default"}, nil) }, "/value", "missing"},
		{"too deep", fallback("json", `1`), serving(t, "default", deep), "", "nest deeper"},
		{"too large", fallback("string", `"a"`), serving(t, "default", long), "", "at most 1048576"},
		{"too large without white space", documents.Flag("bool", documents.ServesTrue, `,"list":[`+strings.Repeat(`"01234567890123",`, 65_000)+`0]`), enabling("default", false), "", "at most 1048576"},
		{"too many values", documents.Flag("bool", documents.ServesTrue, `,"list":[`+strings.Repeat("0,", 100_000)+`0]`), enabling("default", false), "", "at most 100000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.edit(documents.Tree(t, tt.document))
			var refused *RequestError
			if !errors.As(err, &refused) || refused.Issues[0].Pointer != tt.pointer || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v, want %s: …%s…", err, tt.pointer, tt.words)
			}
		})
	}
}

func TestEditsOfDocumentsWithoutAPlace(t *testing.T) {
	for document, pointer := range map[string]string{
		`[]`:                                "",
		`{"valueType":"bool","default":[]}`: "/default",
		`{"valueType":"bool","default":{"rules":{}}}`:                         "/default/rules",
		`{"valueType":"bool","environments":{}}`:                              "/environments",
		`{"valueType":"bool","environments":[{"id":"production","rules":1}]}`: "/environments/0/rules",
	} {
		_, err := SetEnabled(documents.Tree(t, document), Place{Scope: "production"}, true)
		var stored *StoredError
		if !errors.As(err, &stored) || stored.Issues[0].Pointer != pointer {
			t.Errorf("%s: %v, want a StoredError at %s", document, err, pointer)
		}
	}
}

// A flag must be possible to switch off whatever else is wrong with it.
func TestEditsOfImperfectDocuments(t *testing.T) {
	odd := `"text",{"criteria":"all"},{"value":{"type":"bool","value":"yes"}},null`
	tree := documents.Tree(t, `{"valueType":"bool","tags":7,"default":{"rules":[`+odd+`]},"environments":[3,{"id":5},{"rules":[]}],"variants":[null,{"value":1}]}`)
	for _, scope := range []string{"default", "production"} {
		e, err := SetEnabled(tree, Place{Scope: scope}, false)
		if err != nil || rulesText(e.Rules) != odd+","+documents.ServesFalse {
			t.Errorf("%s: %+v, %v", scope, e, err)
		}
	}
}

package edit

import (
	"errors"
	"fmt"
	"os"
	"slices"
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

// TestEdits: testdata has an edit and how many targeting rules it preserves and replaces, then
// a document and what it becomes, "-" where nothing changes.
func TestEdits(t *testing.T) {
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/edits.txt"))(t))), "\n\n") {
		told := strings.Split(block, "\n")
		t.Run(told[0], func(t *testing.T) {
			asked, counts, _ := strings.Cut(told[1], ", preserved and replaced are ")
			words := strings.SplitN(asked, " ", 3)
			edit := map[string]edits{"enable": enabling(words[1], words[2] == "true"), "replace": replacing(words[1], words[2] == "true"), "serve": serving(t, words[1], words[2])}[words[0]]
			tree := documents.Tree(t, told[2])
			given := string(tree.Compact())
			e := must.Get(edit(tree))(t)
			want, changes := told[3], told[3] != "-"
			if !changes {
				want = given
			}
			if got := string(e.Tree.Compact()); got != want || e.Changed != changes {
				t.Errorf("changed %v:\n%s\nwant\n%s", e.Changed, got, want)
			}
			if got := fmt.Sprint(e.PreservedTargetingRuleCount, e.ReplacedTargetingRuleCount); got != counts {
				t.Errorf("preserved and replaced are %s; want %s", got, counts)
			}
			if string(tree.Compact()) != given {
				t.Error("the edit changed the tree that it was given")
			}
			if !strings.Contains(want, `"rules":[`+rulesText(e.Rules)+`]`) || len(e.View) != len(e.Rules) {
				t.Errorf("rules %s", rulesText(e.Rules))
			}
			if again, err := edit(e.Tree); err != nil || again.Changed || again.Tree != e.Tree {
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
		if e, err := SetEnabled(tree, Place{Scope: scope}, true); err != nil || rulesText(e.Previously) != want {
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
		if e, err := SetEnabled(tree, Place{Scope: scope}, false); err != nil || rulesText(e.Rules) != odd+","+documents.ServesFalse {
			t.Errorf("%s: %+v, %v", scope, e, err)
		}
	}
}

const stampAddress = "https://svc.example/schemas/v1/stored-config.json"

func TestNewFlagAndConfig(t *testing.T) {
	served := func(value string) string {
		return `"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}]},"environments":[],"variants":[`
	}
	for _, tt := range []struct {
		name  string
		kind  document.Type
		c     Creation
		value string
		want  string
	}{
		{"bool flag", document.Flag, Creation{Key: "new-nav", ValueType: "bool", Schema: stampAddress}, "",
			`{"$schema":"` + stampAddress + `","key":"new-nav","type":"feature_flag","valueType":"bool","access":"standard","tags":[],` +
				served(`{"type":"bool","value":false}`) + `{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`},
		{"boolean is bool", document.Flag, Creation{Key: "f", ValueType: "boolean", Description: "Nav", Tags: []string{"b", "a"}}, "",
			`{"key":"f","type":"feature_flag","valueType":"bool","description":"Nav","access":"standard","tags":["b","a"],` +
				served(`{"type":"bool","value":false}`) + `{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`},
		{"double flag keeps its spelling", document.Flag, Creation{Key: "f", ValueType: "double"}, "1.50",
			`{"key":"f","type":"feature_flag","valueType":"double","access":"standard","tags":[],` +
				served(`{"type":"double","value":1.50}`) + `{"value":{"type":"double","value":1.50}}]}`},
		{"string-list is string_list", document.Flag, Creation{Key: "f", ValueType: "string-list"}, `["a"]`,
			`{"key":"f","type":"feature_flag","valueType":"string_list","access":"standard","tags":[],` +
				served(`{"type":"string_list","value":["a"]}`) + `{"value":{"type":"string_list","value":["a"]}}]}`},
		{"bool config", document.Config, Creation{Key: "c", ValueType: "bool", Schema: stampAddress}, `true`,
			`{"$schema":"` + stampAddress + `","key":"c","type":"config","valueType":"bool","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"bool","value":true}`) + `{"value":{"type":"bool","value":true}}]}`},
		{"json config may be null", document.Config, Creation{Key: "c", ValueType: "json"}, `null`,
			`{"key":"c","type":"config","valueType":"json","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"json","value":null}`) + `{"value":{"type":"json","value":null}}]}`},
		{"duration config", document.Config, Creation{Key: "c", ValueType: "duration"}, `"P1DT6H0.5S"`,
			`{"key":"c","type":"config","valueType":"duration","access":"standard","tags":[],"sendToClientSdk":false,` +
				served(`{"type":"duration","value":"P1DT6H0.5S"}`) + `{"value":{"type":"duration","value":"P1DT6H0.5S"}}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.value != "" {
				tt.c.Value = documents.Tree(t, tt.value)
			}
			tree := must.Get(New(tt.kind, tt.c))(t)
			if got := string(tree.Compact()); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if issues := document.Validate(tree); len(issues) > 0 {
				t.Errorf("not valid: %v", issues)
			}
			if !slices.IsSortedFunc(tree.Members, func(a, b jsontree.Member) int {
				return slices.Index(memberOrder, a.Name) - slices.Index(memberOrder, b.Name)
			}) {
				t.Error("not in order")
			}
		})
	}
}

func TestRefusedCreations(t *testing.T) {
	for _, tt := range []struct {
		kind     document.Type
		c        Creation
		value    string
		pointers []string
	}{
		{document.Flag, Creation{Key: "", ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: ".hidden", ValueType: "colour"}, "1", []string{"/key", "/type"}},
		{document.Flag, Creation{Key: "a/b", ValueType: "string"}, "", []string{"/key", "/value"}},
		{document.Flag, Creation{Key: strings.Repeat("k", 201), ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: "line\n", ValueType: "bool"}, "", []string{"/key"}},
		{document.Flag, Creation{Key: "f", ValueType: "bool"}, "false", []string{"/value"}},
		{document.Flag, Creation{Key: "f", ValueType: "log_level"}, `"INFO"`, []string{"/type"}},
		{document.Config, Creation{Key: "c"}, "1", []string{"/valueType"}},
		{document.Config, Creation{Key: "c", ValueType: "log_level"}, `"INFO"`, []string{"/valueType"}},
		{document.Config, Creation{Key: "c", ValueType: "bool"}, "", []string{"/value"}},
		{document.Config, Creation{Key: "c", ValueType: "int"}, "1.5", []string{"/value"}},
		{document.Config, Creation{Key: "c", ValueType: "duration"}, `"PT1.5M"`, []string{"/value"}},
	} {
		if tt.value != "" {
			tt.c.Value = documents.Tree(t, tt.value)
		}
		_, err := New(tt.kind, tt.c)
		var refused *RequestError
		if !errors.As(err, &refused) {
			t.Errorf("%+v: %v", tt.c, err)
			continue
		}
		var pointers []string
		for _, issue := range refused.Issues {
			pointers = append(pointers, issue.Pointer)
		}
		if !slices.Equal(pointers, tt.pointers) {
			t.Errorf("%+v: %v, want %v", tt.c, err, tt.pointers)
		}
	}
}

func TestNewLogLevel(t *testing.T) {
	for _, service := range []string{"shop", "log-level.shop"} {
		tree := must.Get(NewLogLevel(service, "WARN", stampAddress))(t)
		const want = `{"$schema":"` + stampAddress + `","key":"log-level.shop","type":"log_level","valueType":"log_level","access":"standard","tags":[],` +
			`"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"log_level","value":"WARN"}}]},"environments":[]}`
		if got := string(tree.Compact()); got != want {
			t.Errorf("got %s", got)
		}
		if issues := document.Validate(tree); len(issues) > 0 {
			t.Errorf("not valid: %v", issues)
		}
	}
	for _, tt := range [][2]string{{"", "INFO"}, {"log-level.", "INFO"}, {"shop", "info"}, {"shop", ""}, {"a b", "INFO"}, {strings.Repeat("s", 191), "INFO"}} {
		if _, err := NewLogLevel(tt[0], tt[1], ""); err == nil {
			t.Errorf("%q at %q was let in", tt[0], tt[1])
		}
	}
}

func TestStampSchema(t *testing.T) {
	for _, tt := range []struct{ document, address, want string }{
		{`{"key":"a","n":1.0}`, "S", `{"$schema":"S","key":"a","n":1.0}`},
		{`{"key":"a","$schema":"old"}`, "S", `{"key":"a","$schema":"S"}`},
		{`{"$schema":7,"key":"a"}`, "", `{"key":"a"}`},
	} {
		tree := documents.Tree(t, tt.document)
		if got := string(StampSchema(tree, tt.address).Compact()); got != tt.want {
			t.Errorf("StampSchema(%s) = %s, want %s", tt.document, got, tt.want)
		}
		if string(tree.Compact()) != tt.document {
			t.Error("the document that was given changed")
		}
	}
}

func TestSetLevel(t *testing.T) {
	for _, tt := range []struct {
		name, before, target, level, want string // want "": nothing changes
	}{
		{"the fallback", "a=INFO *=WARN", "", "ERROR", "a=INFO *=ERROR"},
		{"the fallback as it is", "a=INFO *=WARN", "", "WARN", ""},
		{"no fallback yet", "a=INFO", "", "WARN", "a=INFO *=WARN"},
		{"a first target", "*=WARN", "a", "DEBUG", "a=DEBUG *=WARN"},
		{"a first target, others before the fallback", "? *=WARN", "a", "DEBUG", "? a=DEBUG *=WARN"},
		{"a first target, no fallback", "?", "a", "DEBUG", "? a=DEBUG"},
		{"overwritten where it is", "a=INFO b=INFO *=WARN", "a", "DEBUG", "a=DEBUG b=INFO *=WARN"},
		{"as it is", "a=INFO b=INFO *=WARN", "b", "INFO", ""},
		{"after the last target", "a=INFO ? *=WARN", "b", "DEBUG", "a=INFO b=DEBUG ? *=WARN"},
		{"before its prefix", "x=INFO com.acme=INFO com=WARN *=WARN", "com.acme.cart", "DEBUG", "x=INFO com.acme.cart=DEBUG com.acme=INFO com=WARN *=WARN"},
		{"after what it is a prefix of", "com.acme.cart=INFO *=WARN", "com.acme", "DEBUG", "com.acme.cart=INFO com.acme=DEBUG *=WARN"},
		{"the match is textual", "com.acme.cart=INFO *=WARN", "com.acme.cartoon", "DEBUG", "com.acme.cartoon=DEBUG com.acme.cart=INFO *=WARN"},
		{"before a rule that has its prefix among others", "x,com=INFO *=WARN", "com.a", "DEBUG", "com.a=DEBUG x,com=INFO *=WARN"},
		{"split: the others keep their level", "a,b,c=INFO *=WARN", "b", "DEBUG", "b=DEBUG a,c=INFO *=WARN"},
		{"split: what extends it stays before it", "a,a.b,a.b.c=INFO *=WARN", "a.b", "DEBUG", "a.b.c=INFO a.b=DEBUG a=INFO *=WARN"},
		{"no split for the level it has", "a,b=INFO *=WARN", "b", "INFO", ""},
		{"what is said again goes away", "a=INFO b=INFO a=ERROR b,a=WARN *=WARN", "a", "DEBUG", "a=DEBUG b=INFO b=WARN *=WARN"},
		{"moved before what shadows it", "com=INFO x=INFO com.a,y=DEBUG *=WARN", "com.a", "ERROR", "com.a=ERROR com=INFO x=INFO y=DEBUG *=WARN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := documents.LevelDocument(tt.before, "")
			want := documents.LevelDocument(tt.want, "")
			if tt.want == "" {
				want = before
			}
			e := must.Get(SetLevel(documents.Tree(t, before), "default", tt.target, tt.level))(t)
			if got := string(e.Tree.Compact()); got != want || e.Changed != (tt.want != "") {
				t.Errorf("changed %v\ngot  %s\nwant %s", e.Changed, got, want)
			}
			if again, err := SetLevel(e.Tree, "default", tt.target, tt.level); err != nil || again.Changed {
				t.Errorf("the second time: %s, %v", again.Tree.Compact(), err)
			}
		})
	}
}

func TestSetLevelInAnEnvironment(t *testing.T) {
	tree := documents.Tree(t, documents.LevelDocument("a=INFO *=WARN", `{"id":"staging","rules":[`+documents.LevelRules("b=INFO")+`]}`))
	for _, tt := range []struct{ scope, target, want string }{
		{"production", "b", "a=INFO b=DEBUG *=WARN"}, // seeded
		{"production", "", "a=INFO *=DEBUG"},
		{"staging", "", "b=INFO *=DEBUG"},
		{"staging", "b", "b=DEBUG"},
	} {
		if e, err := SetLevel(tree, tt.scope, tt.target, "DEBUG"); err != nil || rulesText(e.Rules) != documents.LevelRules(tt.want) {
			t.Errorf("%+v: %s, %v", tt, rulesText(e.Rules), err)
		}
	}
}

func TestRefusedLevels(t *testing.T) {
	for _, level := range []string{"", "info", "VERBOSE"} {
		if _, err := SetLevel(documents.Tree(t, documents.LevelDocument("*=WARN", "")), "default", "a", level); err == nil || !strings.Contains(err.Error(), "TRACE, DEBUG") {
			t.Errorf("%q: %v", level, err)
		}
	}
	if _, err := SetLevel(documents.Tree(t, `{"default":[]}`), "default", "a", "INFO"); err == nil {
		t.Error("a document without a place for rules was edited")
	}
}

// A request that creates a document and names a target finds what it wants
// when it comes again.
func TestCreatedThenTargeted(t *testing.T) {
	tree := must.Get(NewLogLevel("shop", "DEBUG", ""))(t)
	for i := range 2 {
		e, err := SetLevel(tree, "production", "com.acme", "DEBUG")
		if err != nil || e.Changed != (i == 0) {
			t.Fatalf("%d: %+v, %v", i, e, err)
		}
		tree = e.Tree
	}
	if issues := document.Validate(tree); len(issues) > 0 {
		t.Error(issues)
	}
}

func TestLogLevelKey(t *testing.T) {
	for service, want := range map[string]string{
		"cart": "log-level.cart", "log-level.cart": "log-level.cart", "LOG-Level.Cart": "log-level.Cart",
		"log-level": "log-level.log-level", "log-level.": "log-level.", "log-level.log-level.x": "log-level.log-level.x", "": "log-level.",
	} {
		if got := document.LogLevelKey(service); got != want {
			t.Errorf("%q: %q, want %q", service, got, want)
		}
	}
}

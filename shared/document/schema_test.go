package document

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
)

var storedSchema = sync.OnceValue(func() *Schema {
	tree, err := jsontree.Parse(SchemaJSON())
	if err != nil {
		panic(err)
	}
	schema, issues := CompileSchema(tree)
	if len(issues) > 0 {
		panic(lines(issues))
	}
	return schema
})

func TestSchemaJSON(t *testing.T) {
	text := SchemaJSON()
	if !json.Valid(text) {
		t.Fatal("not JSON")
	}
	text[0] = 'x'
	if SchemaJSON()[0] == 'x' {
		t.Error("a caller can change the schema")
	}
	for _, name := range []string{"$schema", "$id", "title", "description"} {
		if _, ok := parse(t, storedConfig).Get(name).Text(); !ok {
			t.Errorf("no %s", name)
		}
	}
}

// What an editor shows and what a refused write says is an errorMessage; a
// constraint without one would speak in the schema library's words.
func TestEveryConstraintHasWords(t *testing.T) {
	constraints := []string{"type", "enum", "const", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "not"}
	eachSchema(parse(t, storedConfig), "", func(n *jsontree.Node, pointer string) {
		for _, name := range constraints {
			if n.Get(name) != nil && n.Get("errorMessage") == nil {
				t.Errorf("%s has %s and no errorMessage", pointer, name)
			}
		}
		for i, item := range n.Get("required").Elements() {
			name, _ := item.Text()
			if missing := n.Get("properties").Get(name); missing == nil {
				t.Errorf("%s/required/%d: %s is required and has no properties entry to explain it", pointer, i, name)
			}
		}
	})
}

// Hovering over a member in an editor must say something.
func TestEveryMemberHasADescription(t *testing.T) {
	tree := parse(t, storedConfig)
	eachSchema(tree, "", func(n *jsontree.Node, pointer string) {
		parts := strings.Split(pointer, "/")
		if len(parts) < 3 || parts[len(parts)-2] != "properties" || strings.Contains(pointer, "/then/") || strings.Contains(pointer, "allOf") {
			return
		}
		if n.Get("title") == nil && n.Get("description") == nil && n.Get("$ref") == nil && parts[len(parts)-1] != "value" {
			t.Errorf("%s has neither title nor description", pointer)
		}
	})
}

// eachSchema visits every subschema that a document can fail: all but those
// of an if, which only choose.
func eachSchema(n *jsontree.Node, pointer string, visit func(*jsontree.Node, string)) {
	visit(n, pointer)
	for _, m := range n.Members {
		here := pointer + jsontree.Pointer(m.Name)
		switch m.Name {
		case "properties", "$defs":
			for _, sub := range m.Value.Members {
				eachSchema(sub.Value, here+jsontree.Pointer(sub.Name), visit)
			}
		case "items", "then", "else":
			eachSchema(m.Value, here, visit)
		case "allOf":
			for i, item := range m.Value.Items {
				eachSchema(item, at(here, i), visit)
			}
		}
	}
}

func TestCompileSchemaRefusesWhatIsEnormous(t *testing.T) {
	schema, issues := CompileSchema(parse(t, `{"examples": [`+strings.Repeat(`{},`, maxSchemaObjects)+`{}]}`))
	if want := `: a JSON Schema of more than 10000 objects takes too long to compile; make it smaller (an object with $ref counts as two, one with $id as three)`; schema != nil || !slices.Equal(lines(issues), []string{want}) {
		t.Errorf("%q", lines(issues))
	}
}

// Anyone who may write to the workspace may write a schema, and must not read files of
// the machine that compiles it.
func TestCompileSchemaReadsNoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.json")
	must.Do(t, os.WriteFile(path, []byte(`{"type": "string"}`), 0o600))
	location := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	for _, keyword := range []string{"$ref", "$schema"} {
		if schema, issues := CompileSchema(parse(t, fmt.Sprintf(`{%q: %q}`, keyword, location))); schema != nil || len(issues) != 1 || issues[0].Pointer != "/"+keyword {
			t.Errorf("%s: %q", keyword, lines(issues))
		}
	}
}

// TestSchemaCheck holds values against schemas: testdata has a schema and a value, and what is
// said of it, or in the place of a value "-" where the schema itself is wrong.
func TestSchemaCheck(t *testing.T) {
	check := func(text, value string, want ...string) {
		t.Run(fmt.Sprintf("%.100s", text), func(t *testing.T) {
			schema, issues := CompileSchema(parse(t, text))
			if (value == "-") != (schema == nil) || schema == nil != (len(issues) > 0) {
				t.Fatalf("%q", lines(issues))
			}
			if schema != nil {
				issues = schema.Check(parse(t, value))
			}
			if got := lines(issues); !slices.Equal(got, want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
			}
		})
	}
	for _, block := range strings.Split(strings.TrimSpace(string(must.Get(os.ReadFile("testdata/schemas.txt"))(t))), "\n\n") {
		told := slices.DeleteFunc(strings.Split(block, "\n"), func(line string) bool { return strings.HasPrefix(line, "# ") })
		check(told[0], told[1], told[2:]...)
	}
	check(`{"pattern": "^[a-z.]*(x|y){1,200}$", "maxLength": 200}`, `"`+strings.Repeat("k", 900_000)+`"`, `: expected at most 200 characters, got 900000`)
}

// A schema's author decides what is compared; the words never show it.
func TestSchemaCheckKeepsTheValue(t *testing.T) {
	value := parse(t, `{"p": "hunter2"}`)
	for _, keyword := range []string{`"const": "x"`, `"enum": [1]`, `"pattern": "^x"`, `"type": "number"`, `"maxLength": 1`, `"not": {}`,
		`"anyOf": [{"const": 1}, {"const": 2}]`, `"allOf": [{"const": 1}]`, `"if": {"type": "string"}, "then": {"const": 1}`} {
		schema, _ := CompileSchema(parse(t, fmt.Sprintf(`{"properties": {"p": {%s}}}`, keyword)))
		if issues := schema.Check(value); len(issues) == 0 || strings.Contains(fmt.Sprint(issues), "hunter2") {
			t.Errorf("%s: %q", keyword, lines(issues))
		}
	}
	draft7, _ := CompileSchema(parse(t, `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"p": {"format": "date"}}}`))
	if got := lines(draft7.Check(value)); !slices.Equal(got, []string{"/p: expected a string in the format date"}) {
		t.Errorf("%q", got)
	}
}

func TestStatus(t *testing.T) {
	always := func(value string) string { return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}` }
	arm := func(value, weight string) string {
		return `{"value":{"type":"bool","value":` + value + `},"weight":` + weight + `}`
	}
	split := func(arms string) string {
		return `{"type":"weighted_values","value":{"weightedValues":[` + arms + `]}}`
	}
	targetsOff := `{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"x"}}],"value":{"type":"bool","value":false}}`
	for _, tt := range []struct {
		name, rules string
		want        Lifecycle
	}{
		{"no rules", "", StatusPreRollout},
		{"off", documents.ServesFalse, StatusPreRollout},
		{"off for all, targeted or not", targetsOff + "," + documents.ServesFalse, StatusPreRollout},
		{"on", documents.ServesTrue, StatusLive},
		{"on for all, targeted or not", documents.TargetsPro + "," + documents.ServesTrue, StatusLive},
		{"mixed", documents.TargetsPro + "," + documents.ServesFalse, StatusRollout},
		{"mixed the other way", targetsOff + "," + documents.ServesTrue, StatusRollout},
		{"no catch-all, off", targetsOff, StatusPreRollout},
		{"no catch-all, on", documents.TargetsPro, StatusRollout},
		{"a split", documents.Quarter, StatusRollout},
		{"a split above", documents.Quarter + "," + documents.ServesFalse, StatusRollout},
		{"one value has all the weight", always(split(arm("true", "100000") + "," + arm("false", "0"))), StatusLive},
		{"one value has all the weight, in two arms", always(split(arm("false", "40000") + "," + arm("false", "60000") + "," + arm("true", "0"))), StatusPreRollout},
		{"no weight at all", always(split(arm("true", "0"))), StatusRollout},
		{"an arm that is no boolean", always(split(arm("true", "50000") + `,{"value":{"type":"provided","value":{}},"weight":50000}`)), StatusRollout},
		{"an arm that is no boolean, without weight", always(split(arm("true", "50000") + `,{"value":{"type":"provided","value":{}},"weight":0}`)), StatusLive},
		{"a provided value counts as a split", always(`{"type":"provided","value":{"source":"ENV_VAR","lookup":"X"}}`), StatusRollout},
		{"so does a confidential one", always(`{"type":"bool","value":true,"confidential":true}`), StatusRollout},
		{"a confidential arm", always(split(`{"value":{"type":"bool","value":false,"confidential":true},"weight":1}`)), StatusRollout},
		{"so does an encrypted one", always(`{"type":"bool","value":"abc","decryptWith":"k"}`), StatusRollout},
		{"no criteria is no catch-all", `{"criteria":[],"value":{"type":"bool","value":true}}`, StatusRollout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inherited := View(documents.Tree(t, documents.Flag("bool", tt.rules, "")))
			own := View(documents.Tree(t, documents.Flag("bool", documents.Quarter, `,"environments":[{"id":"production","rules":[`+tt.rules+`]}]`)))
			if got := LifecyclesOf(inherited).In("production"); got != tt.want {
				t.Errorf("inherited: %s, want %s", got, tt.want)
			}
			if got := LifecyclesOf(own).In("production"); got != tt.want {
				t.Errorf("own: %s, want %s", got, tt.want)
			}
			own.ReadyForCleanup = true
			if got := LifecyclesOf(own).In("production"); got != StatusReadyForCleanup {
				t.Errorf("ready for clean-up: %s", got)
			}
		})
	}
}

func TestStatuses(t *testing.T) {
	environments := []Active{{"development", false}, {"production", true}, {"eu", true}}
	d := View(documents.Tree(t, documents.Flag("bool", documents.ServesFalse, `,"environments":[{"id":"production","rules":[`+documents.ServesTrue+`]},{"id":"archived","rules":[]}]`)))
	production, all := LifecyclesOf(d).Statuses(environments)
	if want := (map[string]Lifecycle{"production": StatusLive, "eu": StatusPreRollout}); !reflect.DeepEqual(production, want) {
		t.Errorf("production: %v", production)
	}
	if want := (map[string]Lifecycle{"development": StatusPreRollout, "production": StatusLive, "eu": StatusPreRollout}); !reflect.DeepEqual(all, want) {
		t.Errorf("all: %v", all)
	}
	d = View(documents.Tree(t, documents.Flag("string", documents.ServesFalse, `,"readyForCleanup":true`)))
	production, all = LifecyclesOf(d).Statuses(environments)
	if production == nil || all == nil || len(production)+len(all) != 0 {
		t.Errorf("not bool: %v, %v", production, all)
	}
}

func TestNewUses(t *testing.T) {
	const (
		old    = `{"type":"string","value":"b2xk","decryptWith":"k"}`
		other  = `{"type":"string","value":"b3RoZXI=","decryptWith":"k"}`
		second = `{"type":"string","value":"b2xk","decryptWith":"k2"}`
		lookup = `{"type":"provided","value":{"source":"ENV_VAR","lookup":"A"}}`
		same   = `{"value":{"lookup":"A","source":"ENV_VAR"},"type":"provided","confidential":true}`
		plain  = `{"type":"string","value":"x"}`
	)
	view := func(defaults, staging, variant string) *Document {
		rule := func(value string) string { return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":` + value + `}` }
		tree := must.Get(jsontree.Parse([]byte(fmt.Sprintf(`{"key":"c","type":"config","valueType":"string","default":{"rules":[%s]},"environments":[{"id":"staging","rules":[%s]}],"variants":[{"value":%s}]}`,
			rule(defaults), rule(staging), variant))))(t)
		doc, issues := Decode(tree)
		if len(issues) > 0 {
			t.Fatal(issues)
		}
		return doc
	}
	inDefault := Use{DefaultScope, "/default/rules/0/value", "k"}
	inStaging := Use{"staging", "/environments/0/rules/0/value", "k"}
	asVariant := Use{DefaultScope, "/variants/0/value", "k"}
	read := Use{DefaultScope, "/default/rules/0/value", ""}
	for _, c := range []struct {
		name          string
		before, after *Document
		want          []Use
	}{
		{"a new document", nil, view(old, lookup, plain), []Use{inDefault, {"staging", inStaging.Pointer, ""}}},
		{"nothing", view(old, lookup, plain), view(old, lookup, plain), nil},
		{"another ciphertext", view(old, plain, plain), view(other, plain, plain), []Use{inDefault}},
		{"another key", view(old, plain, plain), view(second, plain, plain), []Use{{DefaultScope, inDefault.Pointer, "k2"}}},
		{"from default into an environment that it did not reach", view(old, plain, plain), view(old, old, plain), []Use{inStaging}},
		{"from default into the variants", view(old, plain, plain), view(old, plain, old), nil},
		{"from a variant into default", view(plain, plain, old), view(old, plain, old), []Use{inDefault}},
		{"from an environment into default", view(plain, old, plain), view(old, old, plain), []Use{inDefault}},
		{"from a variant into an environment", view(plain, plain, old), view(plain, old, plain), []Use{inStaging}},
		{"into an environment", view(plain, plain, plain), view(plain, old, plain), []Use{inStaging}},
		{"into a variant", view(plain, plain, plain), view(plain, plain, old), []Use{asVariant}},
		{"a lookup", view(plain, plain, plain), view(lookup, plain, plain), []Use{read}},
		{"a lookup in other words", view(lookup, plain, plain), view(same, plain, plain), nil},
		{"taken out", view(old, lookup, other), view(plain, plain, plain), nil},
	} {
		if got := NewUses(c.before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

package document_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

// TestTheGuideNamesEveryField of a document, and every type of a value, that the JSON
// Schema has. (The type schema is that of older documents.)
func TestTheGuideNamesEveryField(t *testing.T) {
	var schema struct {
		Properties map[string]any
		Defs       struct {
			RuleValue struct {
				Properties struct{ Type struct{ Enum []string } }
			}
		} `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(document.SchemaJSON(), &schema))
	const guide = "shared/document/README.md"
	text, types := guides.Read(t, guide), schema.Defs.RuleValue.Properties.Type.Enum
	if len(schema.Properties) == 0 || len(types) == 0 {
		t.Fatal("the schema has no properties or no types")
	}
	for field := range schema.Properties {
		types = append(types, field)
	}
	for _, name := range types {
		if name != "schema" && !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s does not describe %s", guide, name)
		}
	}
}

// A workspace may have many schemas, each with as many expressions as one may have.
// All are kept; a function has 256 MB.
func TestSchemasDoNotKeepTheirExpressionsCompiled(t *testing.T) {
	schemas := make([]*document.Schema, 60)
	before := memory.InUse()
	for i := range schemas {
		var properties []string
		for p := range 40 {
			properties = append(properties, fmt.Sprintf(`"p%d": {"pattern": "s%dp%dx{1000}"}`, p, i, p))
		}
		tree := must.Get(jsontree.Parse([]byte(`{"properties": {` + strings.Join(properties, ", ") + `}}`)))(t)
		var issues []document.Issue
		if schemas[i], issues = document.CompileSchema(tree); len(issues) > 0 {
			t.Fatal(issues)
		}
	}
	if held := (memory.InUse() - before) >> 20; held > 24 {
		t.Errorf("%d MB are held", held)
	}
	for value, want := range map[string]int{`{"p3": "s7p3` + strings.Repeat("x", 1000) + `"}`: 0, `{"p3": "s7p3x"}`: 1} {
		tree := must.Get(jsontree.Parse([]byte(value)))(t)
		if issues := schemas[7].Check(tree); len(issues) != want {
			t.Errorf("%v", issues)
		}
	}
}

// TestAMaskedDocumentIsAsValid whatever type its values have.
func TestAMaskedDocumentIsAsValid(t *testing.T) {
	for kind, content := range map[string]string{"bool": "true", "int": "7", "double": "1.5", "string": `"x"`, "duration": `"PT1S"`, "json": `{"a":[1]}`, "string_list": `["x"]`} {
		text := strings.NewReplacer("KIND", kind, "CONTENT", content).Replace(
			`{"key":"k","type":"config","valueType":"KIND","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"KIND","value":CONTENT,"confidential":true}}]}}`)
		tree := must.Get(document.Parse([]byte(text)))(t)
		masked, values := document.Mask(tree, func(string, *jsontree.Node) string { return "now" })
		if issues := document.Validate(masked); len(values) != 1 || len(issues) > 0 {
			t.Errorf("%s: %v", kind, issues)
		}
		if shown := document.Unmask(masked, values); !jsontree.Equal(shown, tree) {
			t.Errorf("%s is shown as %s", kind, shown.Compact())
		}
	}
}

package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/guides"
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

package document_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

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

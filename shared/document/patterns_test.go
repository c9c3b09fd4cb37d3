package document_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

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

package httpapi_test

import (
	"testing"

	"svc.example/svc/shared/jsontree"
)

// TestEveryExampleFits walks through the whole description: an example, in a
// parameter, a header, a body or a schema, and a default, fit their schema.
func TestEveryExampleFits(t *testing.T) {
	count := 0
	examplesOf(spec(), "", func(where string, schema, example *jsontree.Node) {
		count++
		for _, issue := range closedSchema(t, schema).Check(example) {
			t.Errorf("%s: %s: %s", where, issue.Pointer, issue.Message)
		}
	})
	t.Logf("%d examples and defaults", count)
	if count < 150 {
		t.Errorf("there are only %d examples: does the test still find them?", count)
	}
}

// examplesOf visits the examples in a part of the description.
func examplesOf(n *jsontree.Node, where string, visit func(where string, schema, example *jsontree.Node)) {
	if schema := n.Get("schema"); schema != nil {
		if example := n.Get("example"); example != nil {
			visit(where+"/example", schema, example)
		}
		if named := n.Get("examples"); named != nil {
			for _, e := range named.Members {
				visit(where+"/examples/"+e.Name, schema, e.Value.Get("value"))
			}
		}
	}
	if isSchema(n) {
		if list := n.Get("examples"); list != nil && list.Kind == jsontree.Array {
			for _, example := range list.Items {
				visit(where+"/examples", n, example)
			}
		}
		if value := n.Get("default"); value != nil && value.Kind != jsontree.Object {
			visit(where+"/default", n, value)
		}
	}
	for _, m := range n.Members {
		if m.Name != "example" && m.Name != "examples" {
			examplesOf(m.Value, where+"/"+m.Name, visit)
		}
	}
	for _, item := range n.Items {
		examplesOf(item, where, visit)
	}
}

func isSchema(n *jsontree.Node) bool {
	kind := n.Get("type")
	return kind != nil && (kind.Kind == jsontree.String || kind.Kind == jsontree.Array)
}

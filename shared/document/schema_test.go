package document

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/jsontree"
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

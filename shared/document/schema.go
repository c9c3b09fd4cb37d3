package document

import (
	_ "embed"
	"sync"

	"svc.example/svc/shared/jsontree"
)

//go:embed schema/stored-config.json
var storedConfig string

// SchemaJSON is the JSON Schema of the stored document: what a server answers
// under /schemas/v1/stored-config.json and editors read through $schema.
func SchemaJSON() []byte {
	return []byte(storedConfig)
}

// storedSchema is compiled by the first document that is validated: a program
// that only reads documents does not pay for it.
var storedSchema = sync.OnceValue(func() *Schema {
	tree, err := jsontree.Parse(SchemaJSON())
	if err != nil {
		panic("stored-config.json: " + err.Error()) // a part of this program
	}
	schema, _, issues := compileSchema(tree)
	if len(issues) > 0 {
		panic("stored-config.json: " + issues[0].Pointer + ": " + issues[0].Message)
	}
	return schema
})

package document

import _ "embed"

//go:embed schema/stored-config.json
var storedConfig string

// SchemaJSON is the JSON Schema of the stored document: what a server answers
// under /schemas/v1/stored-config.json and editors read through $schema.
func SchemaJSON() []byte {
	return []byte(storedConfig)
}

package encoding

import (
	"bytes"
	"encoding/json"
)

// JSON is a value as JSON on one line. No character is escaped that need not be: people
// read it, and none of it is put into a page as it is.
func JSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return b.Bytes(), err
}

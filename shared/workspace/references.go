package workspace

import (
	"bytes"
	"strings"

	"svc.example/svc/shared/document"
)

// Reference is where a document names another item.
type Reference struct {
	Type    document.Type
	Key     string
	Pointer string // into the document
}

// References finds where documents name the item in a file: a segment in
// criteria, a config to decrypt with, a schema of configs. They come in the
// order of the documents' paths; what a document says of itself is none. Only
// documents that may name it are decoded.
func References(ws *Workspace, path string) []Reference {
	folder, key, _ := SplitPath(path)
	if folder == Flags || folder == LogLevels {
		return nil
	}
	var found []Reference
	name, escape := []byte(`"`+key+`"`), []byte(`\u`)
	for i := range ws.Items {
		stored := &ws.Items[i]
		// A name can be hidden behind escapes, which few documents have.
		if stored.Path == path || !bytes.Contains(stored.Text, name) && !bytes.Contains(stored.Text, escape) {
			continue
		}
		item := stored.Read()
		own, _, _ := strings.Cut(stored.Path, "/")
		t, _ := Folder(own).Type()
		for _, pointer := range referencesTo(item.View, folder, key) {
			found = append(found, Reference{t, stored.Key, pointer})
		}
	}
	return found
}

func referencesTo(doc *document.Document, folder Folder, key string) (pointers []string) {
	switch folder {
	case Segments:
		for spot, criterion := range doc.Criteria() {
			if named, ok := segmentReference(criterion); ok && named == key {
				pointers = append(pointers, spot.Pointer()+"/valueToMatch")
			}
		}
	case Configs:
		for pointer, named := range encrypted(doc) {
			if named == key {
				pointers = append(pointers, pointer)
			}
		}
	case Schemas:
		if doc.Type == document.Config && doc.SchemaKey == key {
			pointers = append(pointers, "/schemaKey")
		}
	}
	return pointers
}

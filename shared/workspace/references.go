package workspace

import (
	"bytes"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// Reference is where a document names another item.
type Reference struct {
	Type    document.Type
	Key     string
	Pointer string // into the document
}

// References finds where documents name the items in files: a segment or a flag in
// criteria, a config to decrypt with, a schema of configs. They come by the file,
// in the order of the documents' paths; what a document says of itself is none.
// The documents are looked through once, and only those decoded that may name one.
func References(ws *Workspace, paths ...string) map[string][]Reference {
	wanted := map[Folder]map[string]string{} // paths, by key
	keys := map[string]bool{}
	for _, path := range paths {
		folder, key, _ := SplitPath(path)
		if folder == LogLevels {
			continue
		}
		if wanted[folder] == nil {
			wanted[folder] = map[string]string{}
		}
		wanted[folder][key], keys[key] = path, true
	}
	found := map[string][]Reference{}
	if len(keys) == 0 {
		return found
	}
	for i := range ws.Items {
		stored := &ws.Items[i]
		if flags := wanted[Flags]; flags != nil && len(wanted) == 1 && !MayAsk(stored.Text) || !mayName(stored.Text, keys) {
			continue
		}
		item := stored.Read()
		own, _, _ := strings.Cut(stored.Path, "/")
		t, _ := Folder(own).Type()
		for folder, keys := range wanted {
			eachReference(item.View, folder, func(pointer, key string) {
				if path, asked := keys[key]; asked && path != stored.Path {
					found[path] = append(found[path], Reference{t, stored.Key, pointer})
				}
			})
		}
	}
	return found
}

// SegmentsOver are the paths of the segments that have one of these among theirs,
// directly or through others, and these.
func SegmentsOver(ws *Workspace, paths ...string) []string {
	over := map[string][]*Stored{} // by the keys that they name
	g := newGraph(ws, &ofSegments)
	for i, item := range g.items {
		for _, key := range g.keys[i] {
			over[key] = append(over[key], item)
		}
	}
	all, seen := slices.Clone(paths), map[string]bool{}
	for _, path := range paths {
		seen[path] = true
	}
	for i := 0; i < len(all); i++ {
		_, key, _ := SplitPath(all[i])
		for _, item := range over[key] {
			if !seen[item.Path] {
				seen[item.Path] = true
				all = append(all, item.Path)
			}
		}
	}
	return all
}

// Shares are the paths of what a document has in common with others: the segments, the
// flags and the schema that it names.
func Shares(doc *document.Document) (paths []string) {
	for _, folder := range []Folder{Segments, Flags, Schemas} {
		eachReference(doc, folder, func(_, key string) { paths = append(paths, string(folder)+"/"+key+extension) })
	}
	return paths
}

// MayAsk reports whether a document may ask for other flags. Few do, and most need not
// be decoded to know.
func MayAsk(text []byte) bool {
	return bytes.Contains(text, []byte("FLAG_IS_")) || bytes.Contains(text, []byte(`\u`))
}

// mayName reports whether one of the keys stands in a text. A key can be hidden behind
// escapes, which few documents have.
func mayName(text []byte, keys map[string]bool) bool {
	begun := -1
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], '"')
		if next < 0 {
			return bytes.Contains(text, []byte(`\u`))
		}
		at += next
		if begun >= 0 && keys[string(text[begun+1:at])] {
			return true
		}
		begun = at
	}
}

// eachReference visits where a document names an item of a folder, and its key.
func eachReference(doc *document.Document, folder Folder, visit func(pointer, key string)) {
	switch folder {
	case Segments:
		for spot, criterion := range doc.Criteria() {
			if named, ok := evaluation.SegmentOf(criterion); ok {
				visit(spot.Pointer()+"/valueToMatch", named)
			}
		}
	case Flags:
		for spot, criterion := range doc.Criteria() {
			if named, ok := evaluation.FlagOf(criterion); ok {
				visit(spot.Pointer()+"/propertyName", named)
			}
		}
	case Configs:
		for pointer, named := range encrypted(doc) {
			visit(pointer, named)
		}
	case Schemas:
		if doc.Type == document.Config && doc.SchemaKey != "" {
			visit("/schemaKey", doc.SchemaKey)
		}
	}
}

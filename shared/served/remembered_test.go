package served

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

func snapshotOf(files map[string]string, paths ...string) *repository.Snapshot {
	s := &repository.Snapshot{}
	for _, path := range paths {
		text := []byte(files[path])
		s.Files = append(s.Files, repository.File{Path: path, Blob: object.Hash(object.Blob, text).String(), Text: text})
	}
	return s
}

func TestOnlyWhatChangedIsDecodedAgain(t *testing.T) {
	flag := func(key, more string) string {
		return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[]}%s}`, key, more)
	}
	const a, b, c, d, s = "feature-flags/a.json", "feature-flags/b.json", "feature-flags/c.json", "feature-flags/d.json", "schemas/s.json"
	first := newView(snapshotOf(map[string]string{a: flag("a", ""), b: flag("b", ""), d: flag("d", ""), s: `{"type":"object"}`}, a, b, d, s), nil, true)
	next := newView(snapshotOf(map[string]string{b: flag("b", `,"x":1`), c: flag("c", ""), d: flag("d", ""), s: `{"type":"object"}`}, b, c, d, s), first, true)
	if next.read[0] == first.read[1] || next.read[2] != first.read[2] {
		t.Error("what changed is not decoded, or what did not is decoded again")
	}
	// Compiling a schema can take most of a second, and writers wait for each other.
	compiled := func(v *View) *document.Schema {
		schema, _ := v.ws.Schemas[0].Compiled()
		return schema
	}
	if compiled(first) == nil || compiled(next) != compiled(first) {
		t.Error("a schema is compiled again after a write of something else")
	}
	if changed := newView(snapshotOf(map[string]string{s: `{"type":"array"}`}, s), next, true); compiled(changed) == compiled(first) {
		t.Error("a schema that has changed is not compiled again")
	}
}

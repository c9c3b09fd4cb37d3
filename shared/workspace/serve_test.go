package workspace

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
)

// TestAnEditDecodesOneDocument: the others are as they were.
func TestAnEditDecodesOneDocument(t *testing.T) {
	const document = `{"key":%q,"type":"feature_flag","valueType":"bool","description":%q,"default":{"rules":[]},"environments":[{"id":"e%[1]s","rules":[]}]}`
	files := map[string][]byte{"schemas/s.json": []byte("{}")}
	for i := range 500 {
		key := fmt.Sprintf("f%d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, document, key, "")
	}
	var decoded atomic.Int32
	s := NewServable(func() func(item *Item) string {
		return func(item *Item) string { decoded.Add(1); return item.Key + item.View.Description }
	})
	for _, step := range []struct {
		name string
		edit func()
		want int32
	}{
		{"at first", func() {}, 500},
		{"nothing", func() {}, 0},
		{"one document", func() { files["feature-flags/f7.json"] = fmt.Appendf(nil, document, "f7", "x") }, 1},
		{"the workspace file", func() { files[File] = []byte(`{"environments":["e"]}`) }, 0},
		{"a broken one", func() { files["feature-flags/f8.json"] = []byte("{") }, 0},
		{"and mended", func() { files["feature-flags/f8.json"] = fmt.Appendf(nil, document, "f8", "y") }, 1},
		{"one gone", func() { delete(files, "feature-flags/f9.json") }, 0},
		{"one moved", func() {
			files["configs/f10.json"] = files["feature-flags/f10.json"]
			delete(files, "feature-flags/f10.json")
		}, 1},
	} {
		step.edit()
		decoded.Store(0)
		var got, want []string
		ws, problems := s.Read(maps.Clone(files), func(of string) { got = append(got, of) })
		if n := decoded.Load(); n != step.want {
			t.Errorf("%s: %d documents are decoded, not %d", step.name, n, step.want)
		}
		fresh, found := ReadServable(files, func(item *Item) { want = append(want, item.Key+item.View.Description) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step.name, got, want)
		}
		if !slices.Equal(problems, found) {
			t.Errorf("%s: %v, want %v", step.name, problems, found)
		}
		if len(ws.Items) != len(fresh.Items) || !slices.Equal(ws.Environments, fresh.Environments) || len(ws.Schemas) != 1 {
			t.Errorf("%s: the workspace is another", step.name)
		}
	}
}

package revwalk

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

// However two trees lie beside each other, their difference is that of the
// sets of their entries.
func TestTreesAreComparedAsSets(t *testing.T) {
	entries := rapid.MapOfN(rapid.StringMatching(`[a-c]{1,3}(\.json)?`), rapid.IntRange(1, 3), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{object.ModeFile, object.ModeExecutable, object.ModeFolder}
		encode := func(names map[string]int, label string) (tree []object.TreeEntry, content []byte) {
			for name, n := range names {
				mode := kinds[rapid.IntRange(0, 2).Draw(t, label)]
				tree = append(tree, object.TreeEntry{Mode: mode, Name: name, ID: object.ParseID(strings.Repeat(fmt.Sprint(n), 40))})
			}
			slices.SortFunc(tree, func(a, b object.TreeEntry) int {
				if a.Less(b) {
					return -1
				}
				return 1
			})
			if rapid.IntRange(0, 4).Draw(t, "disorder") == 0 {
				slices.Reverse(tree)
			}
			return tree, object.EncodeTree(tree)
		}
		first, a := encode(entries.Draw(t, "a"), "mode a")
		second, b := encode(entries.Draw(t, "b"), "mode b")
		then, now := map[string]object.ID{}, map[string]object.ID{}
		key := func(e entry) string { return string(e.Mode) + " " + string(e.Name) }
		must.Do(t, compare(a, b, func(e entry) { then[key(e)] = e.ID }, func(e entry) { now[key(e)] = e.ID }))
		for _, e := range slices.Concat(first, second) {
			name := e.Mode + " " + e.Name
			was, is := idIn(first, e), idIn(second, e)
			if was != is && (then[name].String() != was && was != "" || now[name].String() != is && is != "") {
				t.Fatalf("%s: then %q, now %q, want %q and %q", name, then[name], now[name], was, is)
			}
		}
		for name := range maps.Keys(then) {
			if !slices.ContainsFunc(first, func(e object.TreeEntry) bool { return e.Mode+" "+e.Name == name }) {
				t.Fatalf("%s is made up", name)
			}
		}
	})
}

func idIn(tree []object.TreeEntry, like object.TreeEntry) string {
	for _, e := range tree {
		if e.Mode == like.Mode && e.Name == like.Name {
			return e.ID.String()
		}
	}
	return ""
}

func FuzzTrees(f *testing.F) {
	id := string(bytes.Repeat([]byte{7}, len(object.ID{})))
	f.Add([]byte("100644 a.json\x00"+id+"40000 configs\x00"+id), []byte("100644 b.json\x00"+id))
	f.Add([]byte("100644 a.json\x00"), []byte("40000 a\x00"+id+"100644 a.b\x00"+id))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		then, now := newSide(), newSide()
		if err := compare(a, b, func(e entry) { then.add("configs/", e) }, func(e entry) { now.add("configs/", e) }); err != nil {
			return
		}
		for path, touch := range changes(then.files, now.files) {
			if touch.Path != path || !repository.IsFile(path) {
				t.Errorf("%s: %+v", path, touch)
			}
		}
		if bytes.Equal(a, b) && len(then.files)+len(now.files) > 0 {
			t.Error(fmt.Sprint("a tree differs from itself: ", then, now))
		}
	})
}

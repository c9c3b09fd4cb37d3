package datadir

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fsnotify/fsnotify"
	"pgregory.net/rapid"
)

// TestTraceEndsWhereTheSystemDoes holds trace against the standard library on
// random tangles of directories and links.
func TestTraceEndsWhereTheSystemDoes(t *testing.T) {
	top := realTempDir(t)
	names := []string{"a", "b", "c", ".."}
	path := rapid.Custom(func(t *rapid.T) string {
		return filepath.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 4).Draw(t, "path")...)
	})
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		dir := filepath.Join(top, fmt.Sprint(run), "deep", "deeper")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "things") {
			at := filepath.Join(dir, path.Draw(t, "at"))
			target := path.Draw(t, "target")
			if rapid.Bool().Draw(t, "absolute") {
				target = filepath.Join(dir, target)
			}
			if i%2 == 0 {
				os.MkdirAll(at, 0o755)
			} else {
				os.Symlink(target, at)
			}
		}
		asked := rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(t, "asked")
		whole := dir
		for _, name := range asked {
			whole += "/" + name // not cleaned: a link's parent is where it leads
		}
		want, err := filepath.EvalSymlinks(whole)
		got, ok := survey{}.trace("/", whole, structure, false)
		if ok != (err == nil) || ok && got != want {
			t.Fatalf("trace(%s) = %q, %v; the system says %q, %v", whole, got, ok, want, err)
		}
	})
}

func TestSurveyPlaces(t *testing.T) {
	dir := realTempDir(t)
	tree(t, dir, map[string]string{
		"conf": "-> real/conf", "real/conf/svc.json": "w", "real/conf/feature-flags": "-> ..data/flags",
		"real/conf/..data": "-> ..1", "real/conf/..1/flags/a.json": "a",
		"real/conf/configs/b.json": "-> ../../shared/b.json", "real/shared/b.json": "b",
		"real/conf/segments": "-> ../../hop/link/sub", "hop/link": "-> ../far", "far/sub/": "", "real/conf/unrelated/": "",
	})
	s := surveyOf(filepath.Join(dir, "conf"))
	var near []string
	for at, place := range s {
		if place.near {
			near = append(near, at[len(dir):])
		}
	}
	slices.Sort(near)
	if want := []string{"/far", "/far/sub", "/hop", "/real/conf", "/real/conf/..1", "/real/conf/..1/flags", "/real/conf/configs", "/real/shared"}; !slices.Equal(near, want) {
		t.Errorf("near places %v", near)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if s[at] == nil {
			t.Errorf("%s is no place", at)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if names := slices.Sorted(maps.Keys(s[dir].names)); !slices.Equal(names, []string{"conf", "far", "hop", "real"}) {
		t.Errorf("names in the top directory: %v", names)
	}
}

func TestWeigh(t *testing.T) {
	dir := realTempDir(t)
	tree(t, dir, map[string]string{
		"conf/feature-flags/a.json": "a", "conf/..data": "-> ..1", "conf/..1/configs/": "", "conf/configs": "-> ..data/configs",
	})
	s := surveyOf(filepath.Join(dir, "conf"))
	for _, tt := range []struct {
		name string
		op   fsnotify.Op
		want weight
	}{
		{"conf/feature-flags/a.json", fsnotify.Write, substance},
		{"conf/feature-flags/a.json", fsnotify.Chmod, substance},
		{"conf/feature-flags/new.json", fsnotify.Create, substance},
		{"conf/feature-flags/.a.json.swp", fsnotify.Write, nothing},
		{"conf/feature-flags/a.json~", fsnotify.Create, nothing},
		{"conf/svc.json", fsnotify.Create, substance},
		{"conf/SVC.json", fsnotify.Create, substance},
		{"conf/other.json", fsnotify.Create, nothing},
		{"conf/segments", fsnotify.Create, structure},
		{"conf/feature-flags", fsnotify.Rename, structure},
		{"conf/feature-flags", fsnotify.Chmod, structure},
		{"conf/feature-flags", fsnotify.Write, nothing},
		{"conf/..data", fsnotify.Create, structure},
		{"conf/..1", fsnotify.Remove, structure},
		{"conf/..2", fsnotify.Create, nothing},
		{"conf", fsnotify.Remove, structure},
		{"conf", fsnotify.Write, nothing},
		{"other", fsnotify.Remove, nothing},
		{"", fsnotify.Rename, structure},
		{"conf/..1/configs/x.json", fsnotify.Create, substance},
	} {
		if got := s.weigh(fsnotify.Event{Name: filepath.Join(dir, tt.name), Op: tt.op}); got != tt.want {
			t.Errorf("%s %v: weight %v, want %v", tt.op, tt.name, got, tt.want)
		}
	}
	if got := s.weigh(fsnotify.Event{Name: "//" + components(dir)[0], Op: fsnotify.Remove}); got != structure {
		t.Errorf("a name in the root: %v", got)
	}
	delete(s, dir) // as where ancestors are not watched
	for op, want := range map[fsnotify.Op]weight{fsnotify.Remove: structure, fsnotify.Rename: structure, fsnotify.Chmod: substance, fsnotify.Write: nothing} {
		if got := s.weigh(fsnotify.Event{Name: filepath.Join(dir, "conf"), Op: op}); got != want {
			t.Errorf("%v of the datadir by itself: weight %v, want %v", op, got, want)
		}
	}
	if got := s.weigh(fsnotify.Event{}); got != nothing {
		t.Errorf("no event: %v", got)
	}
}

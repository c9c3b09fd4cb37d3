package datadir

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
	"svc.example/svc/shared/testing/must"
)

// TestAnEditReadsOneFile: of the others neither the content is read again, nor is
// looked whether they are still there. They are written to by way of other names,
// which the system does not report.
func TestAnEditReadsOneFile(t *testing.T) {
	top := realTempDir(t)
	dir, away := filepath.Join(top, "conf"), filepath.Join(top, "away")
	must.Do(t, os.Mkdir(away, 0o755))
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("feature-flags/f%d.json", i)] = "before"
	}
	tree(t, dir, files)
	for path := range files {
		must.Do(t, os.Link(filepath.Join(dir, path), filepath.Join(away, filepath.Base(path))))
	}
	by := byWatching
	by.quiet = 200 * time.Millisecond // so that no file is seen while it is empty
	w := start(t, dir, by)
	must.Do(t, os.WriteFile(filepath.Join(dir, "feature-flags/f6.json"), []byte("first"), 0o644))
	w.until("the first look to be over", func(s State) bool { return string(s.Files["feature-flags/f6.json"]) == "first" })
	for path := range files {
		must.Do(t, os.WriteFile(filepath.Join(away, filepath.Base(path)), []byte("unread"), 0o644))
	}
	for n, edited := range []string{"feature-flags/f7.json", "feature-flags/f8.json"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, edited), []byte("edited"), 0o644))
		count := map[string]int{}
		for _, text := range texts(w.next().Files) {
			count[text]++
		}
		if want := map[string]int{"before": 298 - n, "first": 1, "edited": 1 + n}; !maps.Equal(count, want) {
			t.Errorf("the files say %v, want %v", count, want)
		}
	}
}

// TestALookAfterALookIsALook: whatever happens in between, and whatever was told of
// it, what is read is what is there.
func TestALookAfterALookIsALook(t *testing.T) {
	run, top := 0, t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		run++
		dir := filepath.Join(top, fmt.Sprint(run))
		must.Do(t, os.MkdirAll(filepath.Join(dir, "feature-flags"), 0o755))
		must.Do(t, os.MkdirAll(filepath.Join(dir, "configs"), 0o755))
		names := []string{"svc.json", "feature-flags/a.json", "feature-flags/b.json", "feature-flags/c.json", "configs/a.json"}
		name := rapid.SampledFrom(names)
		state, listing := State{}, list(dir, maxFiles, time.Now())
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			touched := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				path := name.Draw(rt, "path")
				full := filepath.Join(dir, path)
				touched[path] = true
				must.Do(t, os.RemoveAll(full))
				switch rapid.IntRange(0, 5).Draw(rt, "change") {
				case 0: // it is gone
				case 1:
					must.Do(t, os.Mkdir(full, 0o755))
				default:
					must.Do(t, os.WriteFile(full, []byte(rapid.SampledFrom([]string{"x", "y", "zz"}).Draw(rt, "text")), 0o644))
					if rapid.Bool().Draw(rt, "old") {
						must.Do(t, os.Chtimes(full, time.Time{}, time.Unix(1e9, 0)))
					}
				}
			}
			whole := list(dir, maxFiles, time.Now())
			renewed, ok := listing.renewed(touched, time.Now())
			if ok && !renewed.same(whole) {
				rt.Fatalf("touched %v: %v, want %v", touched, renewed.entries, whole.entries)
			}
			if !ok {
				renewed = whole
			}
			listing = renewed
			state = listing.state(state, touched)
			if fresh := whole.state(State{}, nil); !state.same(fresh) {
				rt.Fatalf("%q %v, want %q %v", texts(state.Files), state.Problems, texts(fresh.Files), fresh.Problems)
			}
		}
	})
}

package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

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

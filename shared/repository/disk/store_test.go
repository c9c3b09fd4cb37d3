package disk_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
)

// TestSizesAreGits, whole or as deltas, packed or loose, without inflating any.
func TestSizesAreGits(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for n := range 12 {
		for file := range 20 {
			text := strings.Repeat(fmt.Sprintf("line of file %d\n", file), 50) + fmt.Sprint(n)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(file)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-q", "-m", strings.Repeat("a message that is long enough for a delta\n", 20)+fmt.Sprint(n))
	}
	for _, chore := range [][]string{{"repack", "-adfq"}, {"-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq"}, {"unpack-objects", "-q"}} {
		if chore[0] == "unpack-objects" {
			packs := must[[]string](t)(filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack")))
			moved := filepath.Join(t.TempDir(), "pack")
			for _, path := range must[[]string](t)(filepath.Glob(filepath.Join(dir, ".git/objects/pack/*"))) {
				if path == packs[0] {
					must[string](t)(moved, os.Rename(path, moved))
				} else {
					must[string](t)(path, os.Remove(path))
				}
			}
			git(t, dir, "config", "alias.unpack", "!git unpack-objects -q <"+moved)
			chore = []string{"unpack"}
		}
		git(t, dir, chore...)
		want, got := map[string]string{}, map[string]string{}
		for line := range strings.Lines(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check")) {
			words := strings.Fields(line)
			want[words[0]] = words[1] + " " + words[2]
		}
		store := must[*disk.Objects](t)(disk.OpenStore(filepath.Join(dir, ".git/objects")))
		err := store.Sizes(ctx, func(id object.ID, kind object.Kind, size int64) error {
			got[id.String()] = string(kind) + " " + strconv.FormatInt(size, 10)
			return nil
		})
		if err != nil || !maps.Equal(got, want) || len(want) < 100 {
			t.Errorf("git %v: %v, %d objects, git has %d", chore, err, len(got), len(want))
		}
	}
}

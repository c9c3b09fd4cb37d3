package local

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

func TestLastUses(t *testing.T) {
	dir := created(t)
	path := filepath.Join(dir, usedName)
	key := access.KeyRecord{ID: newID(t)}
	uses := OpenUses(dir)
	writes := 0
	uses.files.step = func(op Operation, _ string) error {
		if op == OpRename {
			writes++
		}
		return nil
	}
	for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(-48 * time.Hour)} {
		uses.Used(key, at)
		must.Do(t, uses.Flush())
	}
	if writes != 1 {
		t.Errorf("%d writes for one day", writes)
	}
	uses.Used(key, noon.Add(24*time.Hour))
	must.Do(t, uses.Flush())
	days, err := registryOf(t, dir).LastUses(background)
	must.Do(t, err)
	if want := map[access.ID]string{key.ID: noon.Add(24 * time.Hour).UTC().Format(time.DateOnly)}; !maps.Equal(days, want) {
		t.Errorf("%v, want %v", days, want)
	}
	// What an earlier process noted stays; what cannot be read is begun again.
	again := OpenUses(dir)
	again.Used(access.KeyRecord{ID: newID(t)}, noon)
	must.Do(t, again.Flush())
	if days, err = registryOf(t, dir).LastUses(background); err != nil || len(days) != 2 {
		t.Errorf("%v, %v", days, err)
	}
	must.Do(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := registryOf(t, dir).LastUses(background); err == nil {
		t.Error("a damaged file was read")
	}
	again = OpenUses(dir)
	again.Used(key, noon)
	must.Do(t, again.Flush())
	if days, err = registryOf(t, dir).LastUses(background); err != nil || len(days) != 1 {
		t.Errorf("%v, %v", days, err)
	}
}

package disk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
)

// largeLines are a document of some 440 KB, which compresses to not much less
// than half.
var largeLines = sync.OnceValue(func() []string {
	lines := []string{"{\n  \"key\": \"large\",\n  \"type\": \"feature_flag\",\n  \"valueType\": \"bool\",\n  \"environments\": {\n"}
	for state := uint64(1); len(lines) < 7_700; {
		state = state*6364136223846793005 + 1442695040888963407
		lines = append(lines, fmt.Sprintf("    \"user-%016x%08x\": {\"enabled\": false},\n", state, uint32(state>>7)))
	}
	return append(lines, "  }\n}\n")
})

// largeDocument is a version of it.
func largeDocument(version int) string {
	lines := slices.Clone(largeLines())
	toggled := 1 + version*31%(len(lines)-2)
	lines[toggled] = strings.Replace(lines[toggled], "false", "true", 1)
	return strings.Join(lines, "")
}

func stored(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	for _, path := range must[[]string](t)(filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))) {
		bytes += must[os.FileInfo](t)(os.Stat(path)).Size()
	}
	return bytes
}

// TestVersionsOfALargeDocument: each write stores it whole, and of what merging
// leaves of that, git says that it is in order and can make little less. Git's own
// deltas are merged too.
func TestVersionsOfALargeDocument(t *testing.T) {
	const writes, together = 200, 64
	s := newStore(t)
	one := int64(0)
	for i := range writes {
		s.commit("feature-flags/large.json", largeDocument(i))
		if one == 0 {
			one = stored(t, s.dir)
		}
		if i%together == together-1 {
			must[disk.Compaction](t)(s.objects.Compact(ctx))
		}
	}
	must[disk.Compaction](t)(s.objects.Compact(ctx))
	took := stored(t, s.dir)
	if t.Logf("%d versions take %d bytes when they are merged, one takes %d", writes, took, one); took > 5*one {
		t.Error("which is too much")
	}
	head := s.publish()
	check := func() {
		t.Helper()
		fsck(t, s.dir)
		wantTree(t, s.dir, must[*disk.Objects](t)(disk.Open(s.dir)))
		history := must[[]repository.Commit](t)(s.ledger.History(ctx, head, repository.Page{}))
		for i, c := range history {
			text := must[[]byte](t)(s.objects.Blob(ctx, c.Touched[0]))
			if want := largeDocument(len(history) - 1 - i); string(text) != want {
				t.Fatalf("version %d is %d bytes, want %d", len(history)-1-i, len(text), len(want))
			}
		}
	}
	check()
	for _, chores := range [][]string{{"gc", "--quiet"}, {"repack", "-adfq"}} {
		git(t, s.dir, chores...)
		for range 3 {
			s.commit("feature-flags/large.json", largeDocument(int(head.Sequence)))
			head = s.publish()
		}
		must[disk.Compaction](t)(s.objects.Compact(ctx))
		check()
		t.Logf("after git %s and three more: %d bytes, one version is %d", chores[0], stored(t, s.dir), one)
	}
}

package repositorytest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// largeDocument is a version of a document of some 60 KB.
func largeDocument(key string, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"key\": %q,\n", strings.Repeat(key, 20))
	state := uint64(len(key)) + uint64(key[0])
	for i := range 1000 {
		state = state*6364136223846793005 + 1442695040888963407
		fmt.Fprintf(&b, "  \"user-%016x-%016x\": %t,\n", state, state>>7^state<<11, i == version*31%1000)
	}
	return b.String() + "}\n"
}

// testMerged changes two large documents in turn and merges the packs twice: what
// is stored hardly grows with the versions, and every one is still there.
func testMerged(t *testing.T, w *world) {
	if w.Merge == nil {
		t.Skip("it merges no packs")
	}
	ctx := context.Background()
	large, version := int64(0), 0
	const a, b = "feature-flags/a.json", "feature-flags/b.json"
	want := map[string]map[string]string{} // by commit and path
	texts := map[string]string{}
	var merged []string
	for range 2 {
		for range 40 {
			path := []string{a, b}[version%2]
			texts[path] = largeDocument(path, version)
			version++
			landed := w.commit("toggle", put(path, texts[path]))
			want[landed.Head.Commit] = map[string]string{a: texts[a], b: texts[b]}
			if large == 0 {
				large = w.packed()
			}
		}
		rows := must.Get(w.Ledger.Since(ctx, w.head(), 0))(t)
		for _, c := range rows[len(rows)-40:] {
			merged = append(merged, c.Pack)
		}
		name := must.Get(w.Merge(ctx, merged))(t)
		merged = []string{name}
		if stored := w.packed(); stored > 4*large {
			t.Errorf("%d versions of two documents take %d bytes, the first took %d", version, stored, large)
		}
		w.fsck()
		w.wantFiles(w.cold(), texts)
		for _, repo := range []*repository.Repository{w.repo, repository.New(w.Ledger, w.Objects)} {
			for commit, texts := range want {
				for path, text := range texts {
					if _, got, err := repo.At(ctx, w.head(), path, commit); text != "" && (err != nil || string(got) != text) {
						t.Fatalf("%s at %s is %d bytes, %v; want %d", path, commit, len(got), err, len(text))
					}
				}
			}
		}
	}
}

// packed is how many bytes all packs have.
func (w *world) packed() (bytes int64) {
	w.t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(w.GitDir, "objects", "pack", "*.pack")))(w.t)
	for _, path := range paths {
		info := must.Get(os.Stat(path))(w.t)
		bytes += info.Size()
	}
	return bytes
}

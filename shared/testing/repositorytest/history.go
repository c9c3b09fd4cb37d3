package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// testPast goes back to every commit: near ones, and ones that are too far back
// to be taken back one by one.
func testPast(t *testing.T, w *world) {
	texts, want := map[string]string{}, map[string]map[string]string{}
	var order []string
	for i := range 40 {
		var changes []repository.Change
		for j, path := range []string{fmt.Sprintf("feature-flags/f%d.json", i), "feature-flags/a.json", "svc.json"} {
			switch {
			case j == 2 && i%7 > 0 || j == 1 && i%3 > 0:
			case j == 1 && i%2 > 0 && texts[path] != "":
				changes = append(changes, remove(path))
				delete(texts, path)
			default:
				texts[path] = fmt.Sprintln(i)
				changes = append(changes, put(path, texts[path]))
			}
		}
		sha := w.commit(fmt.Sprint("commit ", i), changes...).Head.Commit
		order, want[sha] = append(order, sha), maps.Clone(texts)
	}
	for _, repo := range []*repository.Repository{w.repo, repository.New(w.Ledger, w.Objects)} {
		for _, i := range []int{0, 1, 14, 15, 30, 36, 38, 39} {
			sha := order[i]
			for _, revision := range []string{sha, sha[:16]} {
				s, err := repo.Past(context.Background(), w.head(), revision)
				if err != nil || s.Head.Commit != sha {
					t.Fatalf("commit %d: %+v, %v", i, s, err)
				}
				w.wantFiles(s, want[sha])
			}
		}
		if _, err := repo.Past(context.Background(), w.head(), "0000000000000000000000000000000000000000"); !errors.Is(err, repository.ErrUnknownCommit) {
			t.Errorf("a commit that there is none of: %v", err)
		}
		w.wantFiles(w.cold(), texts)
	}
}

func (w *world) tree(commit string) repository.Tree {
	w.t.Helper()
	tree := must.Get(w.Objects.Tree(context.Background(), repository.Head{Commit: commit}))(w.t)
	return tree
}

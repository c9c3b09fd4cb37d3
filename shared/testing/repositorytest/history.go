package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"svc.example/svc/shared/repository"
)

func testAt(t *testing.T, w *world) {
	none := w.commit("none", put("svc.json", "{}\n")).Head.Commit
	one := w.commit("one", put("feature-flags/a.json", "1\n")).Head.Commit
	other := w.commit("other", put("configs/b.json", "2\n")).Head.Commit
	two := w.commit("two", put("feature-flags/a.json", "2\n")).Head.Commit
	gone := w.commit("gone", remove("feature-flags/a.json")).Head.Commit
	w.commit("later", put("feature-flags/a.json", "3\n"))
	for _, repo := range []*repository.Repository{w.repo, repository.New(w.Ledger, w.Objects)} {
		for _, test := range []struct {
			revision, sha, text string
			err                 error
		}{
			{none, none, "", repository.ErrAbsent},
			{one, one, "1\n", nil},
			{one[:12], one, "1\n", nil},
			{other, other, "1\n", nil},
			{two, two, "2\n", nil},
			{gone, gone, "", repository.ErrAbsent},
			{"0000000000000000000000000000000000000000", "", "", repository.ErrUnknownCommit},
			{one[:39] + "x", "", "", repository.ErrUnknownCommit},
		} {
			sha, text, err := repo.At(context.Background(), w.head(), "feature-flags/a.json", test.revision)
			if sha != test.sha || string(text) != test.text || !errors.Is(err, test.err) {
				t.Errorf("at %s: %s, %q, %v; want %s, %q, %v", test.revision, sha, text, err, test.sha, test.text, test.err)
			}
		}
	}
}

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
	tree, err := w.Objects.Tree(context.Background(), repository.Head{Commit: commit})
	if err != nil {
		w.t.Fatal(err)
	}
	return tree
}

package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
)

func testHistory(t *testing.T, w *world) {
	var all, ofA []string // newest first
	for i := range 9 {
		changes := []repository.Change{put("feature-flags/b.json", fmt.Sprintln(i))}
		if i%3 == 0 {
			changes = append(changes, put("feature-flags/a.json", fmt.Sprintln(i)))
		}
		sha := w.commit(fmt.Sprint("commit ", i), changes...).Head.Commit
		all = slices.Insert(all, 0, sha)
		if i%3 == 0 {
			ofA = slices.Insert(ofA, 0, sha)
		}
	}
	w.wantHistory(repository.Page{}, all...)
	w.wantHistory(repository.Page{Path: "feature-flags/a.json"}, ofA...)
	w.wantHistory(repository.Page{Path: "feature-flags/none.json"})
	w.wantHistory(repository.Page{Limit: 4}, all[:4]...)
	w.wantHistory(repository.Page{Path: "feature-flags/a.json", Limit: 2}, ofA[:2]...)
	fourth := w.history(repository.Page{})[3]
	w.wantHistory(repository.Page{Before: fourth.Sequence}, all[4:]...)
	w.wantHistory(repository.Page{Before: fourth.Sequence, Limit: 2}, all[4:6]...)
	w.wantHistory(repository.Page{Path: "feature-flags/a.json", Before: fourth.Sequence}, ofA[1:]...)

	for i, c := range w.history(repository.Page{}) {
		text, id, _ := strings.Cut(c.Message, "\n\nRequest-Id: ")
		if i > 0 && c.SHA != all[i] || text != fmt.Sprint("commit ", 8-i) || !requestid.Valid(strings.TrimSuffix(id, "\n")) || c.Author.Name != "Ada Lovelace" {
			t.Errorf("commit %d of the history is %+v", i, c)
		}
		if i < 8 && c.Parent != all[i+1] || i == 8 && c.Parent != "" {
			t.Errorf("commit %d has the parent %q", i, c.Parent)
		}
	}
	for _, c := range w.history(repository.Page{Path: "feature-flags/a.json"}) {
		if len(c.Touched) != 1 || c.Touched[0].Path != "feature-flags/a.json" {
			t.Errorf("the history of one path has %+v", c.Touched)
		}
	}
	// Through an earlier head only what that one names.
	old := w.head()
	old.Commit, old.Sequence = fourth.SHA, fourth.Sequence
	if got, err := w.repo.History(context.Background(), old, repository.Page{}); err != nil || !slices.Equal(shas(got), all[3:]) {
		t.Errorf("the history of an earlier head is %q, %v", shas(got), err)
	}
}

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

// testAbbreviations makes two commits whose names begin alike.
func testAbbreviations(t *testing.T, w *world) {
	// By four digits. A commit's identity is random, so that one time in 350 two
	// of these begin alike by chance: digits that already name two are left out.
	snapshots := map[string]*repository.Snapshot{}
	shared := map[string]bool{}
	for i := range 20 {
		s := w.commit(fmt.Sprint("one ", i), put("svc.json", fmt.Sprintln(i)))
		short := s.Head.Commit[:4]
		shared[short] = shared[short] || snapshots[short] != nil
		snapshots[short] = s
	}
	maps.DeleteFunc(snapshots, func(short string, _ *repository.Snapshot) bool { return shared[short] })
	c := foreign{message: "two", root: w.tree(w.head().Commit).Root, parent: w.head()}
	for i := 0; snapshots[c.sha()[:4]] == nil; i++ {
		c.message = fmt.Sprint("two ", i)
	}
	short := c.sha()[:4]
	first, second := snapshots[short], w.land(c)
	for _, test := range []struct {
		revision, sha string
		err           error
	}{
		{short, "", repository.ErrAmbiguous},
		{longer(first.Head.Commit, second.Commit), first.Head.Commit, nil},
		{longer(second.Commit, first.Head.Commit), second.Commit, nil},
		{second.Commit, second.Commit, nil},
	} {
		sha, _, err := w.repo.At(context.Background(), w.head(), "svc.json", test.revision)
		if sha != test.sha || !errors.Is(err, test.err) {
			t.Errorf("%s is %s, %v; want %s, %v", test.revision, sha, err, test.sha, test.err)
		}
	}
	// Through the first head the second commit is not there.
	if sha, _, err := w.repo.At(context.Background(), first.Head, "svc.json", short); sha != first.Head.Commit || err != nil {
		t.Errorf("through an earlier head %s is %s, %v", short, sha, err)
	}
}

// longer abbreviates a commit's name so that it is not the other's.
func longer(sha, other string) string {
	n := 4
	for sha[:n] == other[:n] {
		n++
	}
	return sha[:n]
}

func (w *world) tree(commit string) repository.Tree {
	w.t.Helper()
	tree, err := w.Objects.Tree(context.Background(), repository.Head{Commit: commit})
	if err != nil {
		w.t.Fatal(err)
	}
	return tree
}

// Package repositorytest is the contract of a ledger and of a store of objects, as
// tests: every implementation must pass all of it. Only tests import it.
//
// It also has a ledger in memory, the simplest that keeps the contract.
package repositorytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/testing/must"
)

// Store is an implementation that is held to the contract: one workspace,
// empty at first.
type Store struct {
	Ledger  repository.Ledger
	Objects repository.Objects
	// Head reads the head as it is now.
	Head func(context.Context) (repository.Head, error)
	// Bump raises the access version, as a revocation does.
	Bump func()
	// GitDir is the directory that real git can read the objects in.
	GitDir string
	// Merge makes one pack of those named, the oldest first, or of all that there
	// are, leaves nothing of them and returns its name, if it has one. It is nil
	// where nothing is merged.
	Merge func(ctx context.Context, packs []string) (string, error)
	// Extra says that more snapshots are stored than there should be. It
	// tests what is read from them, and no budget holds.
	Extra bool
}

// Run holds an implementation to the contract. Open makes a new, empty store
// for each test and puts what has to be closed into t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"create, modify, delete", testWrites},
		{"a draft that changes nothing", testNothing},
		{"bad drafts", testBadDrafts},
		{"what has to be reviewed", testReviewed},
		{"names, dates and messages", testIdentities},
		{"writers at once", testRace},
		{"response lost", testResponseLost},
		{"everything at a commit", testPast},
		{"foreign content", testForeign},
		{"something in the way", testOccupied},
		{"another instance writes", testTwoInstances},
		{"budgets", testBudgets},
		{"objects", testObjects},
		{"merged", testMerged},
		{"agrees with git", testGit},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newWorld(t, open(t))) })
	}
}

// world is a store with a repository on it.
type world struct {
	Store
	t    *testing.T
	repo *repository.Repository
	// now is the time of the last commit; each one is a minute later.
	now time.Time
}

func newWorld(t *testing.T, store Store) *world {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &world{Store: store, t: t, repo: repository.New(store.Ledger, store.Objects), now: now}
}

func (w *world) head() repository.Head {
	w.t.Helper()
	return must.Get(w.Head(context.Background()))(w.t)
}

// snapshot returns what a repository that has read before sees now.
func (w *world) snapshot() *repository.Snapshot {
	w.t.Helper()
	return w.snapshotOf(w.repo)
}

// cold returns what a repository that has never read sees now.
func (w *world) cold() *repository.Snapshot {
	w.t.Helper()
	return w.snapshotOf(repository.New(w.Ledger, w.Objects))
}

func (w *world) snapshotOf(repo *repository.Repository) *repository.Snapshot {
	w.t.Helper()
	return must.Get(repo.Snapshot(context.Background(), w.head()))(w.t)
}

func (w *world) draft(message string, changes ...repository.Change) repository.Draft {
	w.now = w.now.Add(time.Minute)
	return repository.Draft{
		Changes:   changes,
		Author:    repository.Signature{Name: "Ada Lovelace", Email: "ada@example.com", When: w.now},
		Committer: repository.Signature{Name: "svc", Email: "noreply@svc", When: w.now},
		Message:   message,
	}
}

// commit writes on top of the head.
func (w *world) commit(message string, changes ...repository.Change) *repository.Snapshot {
	w.t.Helper()
	return must.Get(w.repo.Commit(context.Background(), w.snapshot(), w.draft(message, changes...)))(w.t)
}

// Put is a change that writes a file.
func Put(path, text string) repository.Change {
	return repository.Change{Path: path, Content: []byte(text)}
}

var put = Put

func remove(path string) repository.Change { return repository.Change{Path: path} }

// Texts returns a snapshot's files as path to text.
func Texts(s *repository.Snapshot) map[string]string {
	all := map[string]string{}
	for _, f := range s.Files {
		all[f.Path] = string(f.Text)
	}
	return all
}

func (w *world) wantFiles(s *repository.Snapshot, want map[string]string) {
	w.t.Helper()
	if got := Texts(s); !maps.Equal(got, want) {
		w.t.Errorf("the files at %s are %q, want %q", s.Head.Commit, got, want)
	}
}

// wantSame compares two ways to see one head: by following and from scratch,
// for example.
func (w *world) wantSame(a, b *repository.Snapshot) {
	w.t.Helper()
	if a.Head != b.Head || len(a.Files) != len(b.Files) {
		w.t.Fatalf("two views differ: %v with %d files, %v with %d", a.Head, len(a.Files), b.Head, len(b.Files))
	}
	for i, f := range a.Files {
		if g := b.Files[i]; f.Path != g.Path || f.Blob != g.Blob || !bytes.Equal(f.Text, g.Text) || !sameCommit(*f.Last, *g.Last) {
			w.t.Errorf("two views differ:\n%s\n%s", describeFile(f), describeFile(g))
		}
	}
}

func describeFile(f repository.File) string {
	return fmt.Sprintf("%s %s %q last %+v", f.Path, f.Blob, f.Text, *f.Last)
}

func sameCommit(a, b repository.Commit) bool {
	return a.SHA == b.SHA && a.Sequence == b.Sequence && a.Parent == b.Parent && a.Message == b.Message &&
		sameSignature(a.Author, b.Author) && sameSignature(a.Committer, b.Committer)
}

func sameSignature(a, b repository.Signature) bool {
	return a.Name == b.Name && a.Email == b.Email && a.When.Format(time.RFC3339Nano) == b.When.Format(time.RFC3339Nano)
}

func shas(commits []repository.Commit) []string {
	var all []string
	for _, c := range commits {
		all = append(all, c.SHA)
	}
	return all
}

func (w *world) history(page repository.Page) []repository.Commit {
	w.t.Helper()
	return must.Get(w.repo.History(context.Background(), w.head(), page))(w.t)
}

func (w *world) wantHistory(page repository.Page, want ...string) {
	w.t.Helper()
	if got := shas(w.history(page)); !slices.Equal(got, want) {
		w.t.Errorf("the history of %+v is %q, want %q", page, got, want)
	}
}

func testWrites(t *testing.T, w *world) {
	first := w.commit("one", put("svc.json", "{}\n"), put("feature-flags/a.json", "1\n"), put("configs/b.json", "2\n"))
	second := w.commit("two", put("feature-flags/a.json", "3\n"), put("feature-flags/c.json", ""))
	third := w.commit("three", remove("configs/b.json"), put("schemas/d.json", "1\n"))

	w.wantFiles(first, map[string]string{"svc.json": "{}\n", "feature-flags/a.json": "1\n", "configs/b.json": "2\n"})
	w.wantFiles(third, map[string]string{"svc.json": "{}\n", "feature-flags/a.json": "3\n", "feature-flags/c.json": "", "schemas/d.json": "1\n"})
	w.wantSame(third, w.snapshot())
	w.wantSame(third, w.cold())
	for path, want := range map[string]string{
		"svc.json": first.Head.Commit, "feature-flags/a.json": second.Head.Commit,
		"feature-flags/c.json": second.Head.Commit, "schemas/d.json": third.Head.Commit,
	} {
		if f, ok := third.File(path); !ok || f.Last.SHA != want {
			t.Errorf("%s was last touched by %s, want %s", path, f.Last.SHA, want)
		}
	}
	if _, ok := third.File("configs/b.json"); ok {
		t.Error("a deleted file is still there")
	}
	if head := w.head(); head != third.Head || head.Sequence != first.Head.Sequence+2 {
		t.Errorf("the head is %+v after %+v", head, third.Head)
	}
	w.wantTouches(third.Head.Commit, map[string]bool{"configs/b.json": false, "schemas/d.json": true})
	w.wantTouches(second.Head.Commit, map[string]bool{"feature-flags/a.json": false, "feature-flags/c.json": true})

	w.commit("everything goes", remove("svc.json"), remove("feature-flags/a.json"), remove("feature-flags/c.json"), remove("schemas/d.json"))
	w.wantFiles(w.cold(), map[string]string{})
	back := w.commit("and comes back", put("svc.json", "{}\n"))
	w.wantSame(back, w.cold())
	w.wantTouches(back.Head.Commit, map[string]bool{"svc.json": true})
}

// wantTouches checks which files a commit in history touched, and whether it
// created them.
func (w *world) wantTouches(sha string, created map[string]bool) {
	w.t.Helper()
	for _, c := range w.history(repository.Page{}) {
		if c.SHA != sha {
			continue
		}
		if len(c.Touched) != len(created) {
			w.t.Errorf("%s touched %+v, want %v", c.Message, c.Touched, created)
		}
		for _, touch := range c.Touched {
			if want, ok := created[touch.Path]; !ok || want != touch.Created {
				w.t.Errorf("%s touched %+v, want %v", c.Message, touch, created)
			}
		}
		return
	}
	w.t.Errorf("%s is not in the history", sha)
}

func testNothing(t *testing.T, w *world) {
	base := w.commit("one", put("feature-flags/a.json", "1\n"))
	for _, change := range []repository.Change{put("feature-flags/a.json", "1\n"), remove("feature-flags/b.json"), remove("svc.json")} {
		if s, err := w.repo.Commit(context.Background(), base, w.draft("nothing", change)); err != nil || s.Head != base.Head {
			t.Errorf("%v: %v, %v", change, s, err)
		}
	}
	if s, err := w.repo.Commit(context.Background(), base, w.draft("nothing")); err != nil || s.Head != base.Head {
		t.Errorf("no change: %v, %v", s, err)
	}
	w.wantHistory(repository.Page{}, base.Head.Commit)
}

func testBadDrafts(t *testing.T, w *world) {
	base := w.commit("one", put("feature-flags/a.json", "1\n"))
	for name, spoil := range map[string]func(d *repository.Draft){
		"no path":              func(d *repository.Draft) { d.Changes[0].Path = "" },
		"parent":               func(d *repository.Draft) { d.Changes[0].Path = "../svc.json" },
		"dot git":              func(d *repository.Draft) { d.Changes[0].Path = ".git/config" },
		"dot git in a folder":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/.git" },
		"dot dot in a folder":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/../x.json" },
		"absolute":             func(d *repository.Draft) { d.Changes[0].Path = "/svc.json" },
		"foreign":              func(d *repository.Draft) { d.Changes[0].Path = "README.md" },
		"sub-folder":           func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/x/a.json" },
		"line break in a path": func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\n.json" },
		"NUL in a path":        func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\x00.json" },
		"backslash in a path":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\\b.json" },
		"no UTF-8 in a path":   func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/\xff.json" },
		"a long name":          func(d *repository.Draft) { d.Changes[0].Path = "configs/" + strings.Repeat("x", 251) + ".json" },
		"twice":                func(d *repository.Draft) { d.Changes = append(d.Changes, d.Changes[0]) },
		"no author":            func(d *repository.Draft) { d.Author.Name = " " },
		"line break in a name": func(d *repository.Draft) { d.Author.Name = "Ada\ncommitter Eve <eve@example.com> 0 +0000" },
		"< in a name":          func(d *repository.Draft) { d.Author.Name = "Ada <" },
		"NUL in a name":        func(d *repository.Draft) { d.Committer.Name = "a\x00b" },
		"> in an address":      func(d *repository.Draft) { d.Committer.Email = "a>b" },
		"no UTF-8 in a name":   func(d *repository.Draft) { d.Author.Name = "\xff" },
		"no date":              func(d *repository.Draft) { d.Author.When = time.Time{} },
		"far future":           func(d *repository.Draft) { d.Author.When = d.Author.When.AddDate(9000, 0, 0) },
		"no message":           func(d *repository.Draft) { d.Message = "\n" },
		"NUL in the message":   func(d *repository.Draft) { d.Message = "a\x00b" },
		"a bad request id":     func(d *repository.Draft) { d.RequestID = "build-17" },
	} {
		draft := w.draft("bad", put("feature-flags/b.json", "1\n"))
		spoil(&draft)
		if _, err := w.repo.Commit(context.Background(), base, draft); !errors.Is(err, repository.ErrDraft) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.wantHistory(repository.Page{}, base.Head.Commit)
}

// testReviewed: whoever makes a draft, and whatever for, what has to be reviewed is refused
// unless the draft says that it was.
func testReviewed(t *testing.T, w *world) {
	file := `{"environments": ["staging", "production"], "review": {"production": {}}}`
	base := w.commit("one", put("svc.json", file), put("feature-flags/a.json", `{"default": 1}`))
	for name, changes := range map[string][]repository.Change{
		"what everybody is served": {put("feature-flags/a.json", `{"default": 2}`)},
		"another document":         {put("configs/a.json", `{}`)},
		"review is turned off":     {put("svc.json", `{"environments": ["staging", "production"]}`)},
		"both at once":             {put("svc.json", `{"environments": ["staging", "production"]}`), remove("feature-flags/a.json")},
	} {
		draft := w.draft(name, changes...)
		for _, turn := range []*repository.Turn{nil, {Now: w.now}} {
			var refused *repository.Unreviewed
			draft.Turn = turn
			if _, err := w.repo.Commit(context.Background(), base, draft); !errors.As(err, &refused) || !slices.Equal(refused.Environments, []string{"production"}) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.wantSame(base, w.snapshot())
	}
	next := w.commit("two", put("feature-flags/a.json", `{"default": 1, "environments": [{"id": "staging"}]}`))
	draft := w.draft("three", put("feature-flags/a.json", `{"default": 3}`))
	draft.Approved = true
	must.Get(w.repo.Commit(context.Background(), next, draft))(t)
	w.wantFiles(w.snapshot(), map[string]string{"svc.json": file, "feature-flags/a.json": `{"default": 3}`})
}

func testIdentities(t *testing.T, w *world) {
	draft := w.draft("production: enabled set to false\n\nmore, with \"quotes\" and ümläuts\n\nSvc-Principal: service_account/sa_1\n\n",
		put("feature-flags/ä b.json", "1\n"))
	draft.Author = repository.Signature{Name: "Bärbel O'Neil Jr. 🙂", Email: "", When: time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("IST", 5*3600+1800))}
	draft.RequestID = requestid.New()
	draft.Committer.When = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", -9*3600-1800))
	landed := must.Get(w.repo.Commit(context.Background(), w.snapshot(), draft))(t)
	w.wantSame(landed, w.cold())
	last := landed.Files[0].Last
	if last.Author.Name != draft.Author.Name || !last.Author.When.Equal(draft.Author.When.Truncate(time.Second)) {
		t.Errorf("the author is %+v, want %+v", last.Author, draft.Author)
	}
	trailer := "Request-Id: " + draft.RequestID + "\n"
	if want := strings.TrimRight(draft.Message, "\n") + "\n" + trailer; last.Message != want {
		t.Errorf("the message is %q, want %q", last.Message, want)
	}
	if row := w.history(repository.Page{})[0]; !sameCommit(row, *last) {
		t.Errorf("the history has %+v, want %+v", row, last)
	}
	const format = "--format=%an|%ae|%aI|%cn|%ce|%cI|%B"
	want := "Bärbel O'Neil Jr. 🙂||2026-01-02T03:04:05+05:30|svc|noreply@svc|2026-01-02T03:04:05-09:30|" +
		"production: enabled set to false\n\nmore, with \"quotes\" and ümläuts\n\nSvc-Principal: service_account/sa_1\n" + trailer + "\n"
	if got := w.git("log", "-1", format, landed.Head.Commit); got != want {
		t.Errorf("git says %q, want %q", got, want)
	}
	w.fsck()
}

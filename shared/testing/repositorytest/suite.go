package repositorytest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
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
	// Git is the git program.
	Git string
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
	head := must.Get(w.Head(context.Background()))(w.t)
	return head
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
	s := must.Get(repo.Snapshot(context.Background(), w.head()))(w.t)
	return s
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
	s := must.Get(w.repo.Commit(context.Background(), w.snapshot(), w.draft(message, changes...)))(w.t)
	return s
}

func put(path, text string) repository.Change {
	return repository.Change{Path: path, Content: []byte(text)}
}

func remove(path string) repository.Change { return repository.Change{Path: path} }

// texts returns a snapshot's files as path to text.
func texts(s *repository.Snapshot) map[string]string {
	all := map[string]string{}
	for _, f := range s.Files {
		all[f.Path] = string(f.Text)
	}
	return all
}

func (w *world) wantFiles(s *repository.Snapshot, want map[string]string) {
	w.t.Helper()
	if got := texts(s); !maps.Equal(got, want) {
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
	commits := must.Get(w.repo.History(context.Background(), w.head(), page))(w.t)
	return commits
}

func (w *world) wantHistory(page repository.Page, want ...string) {
	w.t.Helper()
	if got := shas(w.history(page)); !slices.Equal(got, want) {
		w.t.Errorf("the history of %+v is %q, want %q", page, got, want)
	}
}

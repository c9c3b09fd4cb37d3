package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// TestACommitThatCannotBeRead: what was there before is read on, and nothing is
// written until main is moved to another.
func TestACommitThatCannotBeRead(t *testing.T) {
	for name, content := range map[string]func(t *testing.T, l *Ledger, parent string) []byte{
		"too large": func(t *testing.T, l *Ledger, parent string) []byte {
			_, text := read(t, l.Repository(), parent)
			return append(text, make([]byte, object.MaxCommit)...)
		},
		"a tree that is none": func(t *testing.T, l *Ledger, parent string) []byte {
			_, text := read(t, l.Repository(), parent)
			c, err := object.DecodeCommit(text)
			must(t, err)
			_, tree := read(t, l.Repository(), c.Tree)
			c.Tree = putLoose(t, l.Repository(), object.TreeKind, append(tree, "100644 half"...))
			c.Parents = []string{parent}
			return object.EncodeCommit(c)
		},
		"no commit": func(*testing.T, *Ledger, string) []byte { return []byte("tree none\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			l := opened(t, dir, Options{})
			write(t, l, "a", "1")
			good := head(t, l)
			bad := putLoose(t, l.Repository(), object.CommitKind, content(t, l, good.Commit))
			branchFile := filepath.Join(l.Repository(), branch)
			must(t, os.WriteFile(branchFile, []byte(bad+"\n"), 0o666))
			for range 2 {
				if now := head(t, l); now != good {
					t.Errorf("the head is %+v, want %+v", now, good)
				}
				_, err := l.Advance(background, good, draft(t, l.Repository(), good.Commit, "a", "2"))
				trouble := (*repository.Unavailable)(nil)
				if !errors.As(err, &trouble) || !errors.Is(err, repository.ErrFailed) || !strings.Contains(trouble.Message, bad) {
					t.Errorf("a write: %v", err)
				}
				must(t, l.Close())
				l = opened(t, dir, Options{})
			}
			must(t, os.WriteFile(branchFile, []byte(good.Commit+"\n"), 0o666))
			c := write(t, l, "a", "3")
			if now := head(t, l); now.Commit != c.SHA || now.Sequence != good.Sequence+1 {
				t.Errorf("mended, and the head is %+v", now)
			}
		})
	}
}

// TestBeforeTheFirstCommit: a repository that never had a branch main is empty,
// and every other one without has lost it.
func TestBeforeTheFirstCommit(t *testing.T) {
	for name, test := range map[string]struct {
		make func(t *testing.T, l *Ledger)
		lost bool
	}{
		"nothing":        {func(*testing.T, *Ledger) {}, false},
		"loose objects":  {func(t *testing.T, l *Ledger) { draft(t, l.Repository(), "", "a", "1") }, false},
		"another branch": {func(t *testing.T, l *Ledger) { renamed(t, l, "trunk") }, true},
		"packed": {func(t *testing.T, l *Ledger) {
			renamed(t, l, "trunk")
			gitIn(t, l.Repository()).run("pack-refs", "--all")
		}, true},
		"a branch's lock": {func(t *testing.T, l *Ledger) { holdBranch(t, l) }, false},
		"deleted": {func(t *testing.T, l *Ledger) {
			renamed(t, l, "trunk")
			g := gitIn(t, l.Repository())
			g.run("repack", "-adq")
			g.run("update-ref", "-d", "refs/heads/trunk")
		}, true},
		"a first commit that came to nothing": {func(t *testing.T, l *Ledger) {
			for _, extension := range []string{".idx", ".pack", ".keep"} {
				must(t, os.WriteFile(filepath.Join(l.Repository(), "objects/pack/pack-"+strings.Repeat("1", 40)+extension), nil, 0o666))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			l := opened(t, dir, Options{})
			test.make(t, l)
			must(t, l.Close())
			must(t, os.Remove(filepath.Join(dir, cacheName)))
			l = opened(t, dir, Options{})
			h, err := l.Head(background)
			if lost := errors.Is(err, repository.ErrFailed); lost != test.lost || !lost && (err != nil || h.Commit != "") {
				t.Errorf("%+v, %v, want that it is lost: %t", h, err, test.lost)
			}
		})
	}
}

// renamed is a repository with a commit whose branch has another name.
func renamed(t *testing.T, l *Ledger, name string) {
	t.Helper()
	write(t, l, "a", "1")
	gitIn(t, l.Repository()).run("branch", "-m", "main", name)
}

// TestTheReflogHoldsWholeLines, whatever became of a write.
func TestTheReflogHoldsWholeLines(t *testing.T) {
	dir := created(t)
	fail := false
	l := opened(t, dir, Options{Step: func(op Operation, path string) error {
		if fail && op == OpWrite && filepath.Base(path) == "main" {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) // what a full disk takes of a line
			must(t, err)
			_, err = f.WriteString("half a l")
			must(t, errors.Join(err, f.Close()))
			return errors.ErrUnsupported
		}
		return nil
	}})
	log := filepath.Join(l.Repository(), "logs", branch)
	must(t, os.MkdirAll(filepath.Dir(log), 0o777))
	must(t, os.WriteFile(log, nil, 0o666))
	write(t, l, "a", "1")
	before, err := os.ReadFile(log)
	must(t, err)
	fail = true
	from := head(t, l)
	if _, err := l.Advance(background, from, draft(t, l.Repository(), from.Commit, "a", "2")); err == nil {
		t.Fatal("the write did not fail")
	}
	if after, err := os.ReadFile(log); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the log is %q, %v, before %q", after, err, before)
	}
}

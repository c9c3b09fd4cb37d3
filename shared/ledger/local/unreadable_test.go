package local

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
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
			c := must.Get(object.DecodeCommit(text))(t)
			_, tree := read(t, l.Repository(), c.Tree.String())
			c.Tree = putLoose(t, l.Repository(), object.TreeKind, append(tree, "100644 half"...))
			c.Parents = []object.ID{object.ParseID(parent)}
			return object.EncodeCommit(c)
		},
		"no commit": func(*testing.T, *Ledger, string) []byte { return []byte("tree none\n\n") },
		"a missing parent": func(t *testing.T, l *Ledger, parent string) []byte {
			return commitOn(t, l, parent, func(c *object.Commit) { c.Parents = append(c.Parents, missing) })
		},
		"a missing root tree": func(t *testing.T, l *Ledger, parent string) []byte {
			return commitOn(t, l, parent, func(c *object.Commit) { c.Tree = missing })
		},
		"a missing folder": func(t *testing.T, l *Ledger, parent string) []byte {
			return commitWith(t, l, parent, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: missing})
		},
		"a garbled commit": func(t *testing.T, l *Ledger, parent string) []byte {
			content := commitOn(t, l, parent, func(*object.Commit) {})
			garble(t, l, putLoose(t, l.Repository(), object.CommitKind, content))
			return content
		},
		"a garbled folder": func(t *testing.T, l *Ledger, parent string) []byte {
			configs := garble(t, l, putTree(t, l.Repository(), []object.TreeEntry{{Mode: object.ModeFile, Name: "b.json", ID: missing}}))
			return commitWith(t, l, parent, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: configs})
		},
		"a blob in the place of a folder": func(t *testing.T, l *Ledger, parent string) []byte {
			blob := putLoose(t, l.Repository(), object.Blob, []byte("{}"))
			return commitWith(t, l, parent, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: blob})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			l := opened(t, dir, Options{})
			write(t, l, "a", "1")
			good := head(t, l)
			bad := putLoose(t, l.Repository(), object.CommitKind, content(t, l, good.Commit))
			branchFile := filepath.Join(l.Repository(), branch)
			must.Do(t, os.WriteFile(branchFile, []byte(bad.String()+"\n"), 0o666))
			for range 2 {
				if now := head(t, l); now != good {
					t.Errorf("the head is %+v, want %+v", now, good)
				}
				_, err := l.Advance(background, good, draft(t, l.Repository(), good.Commit, "a", "2"))
				unavailable := (*repository.Unavailable)(nil)
				if !errors.As(err, &unavailable) || !errors.Is(err, repository.ErrFailed) || !strings.Contains(unavailable.Message, bad.String()) {
					t.Errorf("a write: %v", err)
				}
				must.Do(t, l.Close())
				l = opened(t, dir, Options{})
			}
			must.Do(t, os.WriteFile(branchFile, []byte(good.Commit+"\n"), 0o666))
			c := write(t, l, "a", "3")
			if now := head(t, l); now.Commit != c.SHA || now.Sequence != good.Sequence+1 {
				t.Errorf("mended, and the head is %+v", now)
			}
		})
	}
}

var missing = object.ParseID("2222222222222222222222222222222222222222")

// garble puts something else where an object was.
func garble(t *testing.T, l *Ledger, id object.ID) object.ID {
	t.Helper()
	file := filepath.Join(l.Repository(), "objects", id.String()[:2], id.String()[2:])
	must.Do(t, os.Chmod(file, 0o666))
	must.Do(t, os.WriteFile(file, []byte("garbage"), 0o666))
	return id
}

// TestALossAfterTheFact: where a commit or folder at the head is lost while
// nobody serves it, the last head that can be read is the head, and the lost one
// again when it is back.
func TestALossAfterTheFact(t *testing.T) {
	for name, pick := range map[string]func(c object.Commit, commit object.ID) object.ID{
		"the commit":    func(_ object.Commit, commit object.ID) object.ID { return commit },
		"its root tree": func(c object.Commit, _ object.ID) object.ID { return c.Tree },
	} {
		for what, harm := range map[string]func(file string) error{
			"gone": os.Remove,
			"garbled": func(file string) error {
				return errors.Join(os.Chmod(file, 0o666), os.WriteFile(file, []byte("garbage"), 0o666))
			},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				dir := created(t)
				l := opened(t, dir, Options{})
				write(t, l, "a", "1")
				good := head(t, l)
				content := commitWith(t, l, good.Commit, object.TreeEntry{Mode: object.ModeFile, Name: "zzz", ID: missing})
				commit := putLoose(t, l.Repository(), object.CommitKind, content)
				must.Do(t, os.WriteFile(filepath.Join(l.Repository(), branch), []byte(commit.String()+"\n"), 0o666))
				last := head(t, l)
				must.Do(t, l.Close())
				c := must.Get(object.DecodeCommit(content))(t)
				id := pick(c, commit)
				file := filepath.Join(l.Repository(), "objects", id.String()[:2], id.String()[2:])
				saved := must.Get(os.ReadFile(file))(t)
				must.Do(t, harm(file))
				for range 2 {
					l = opened(t, dir, Options{})
					if now := head(t, l); now != good {
						t.Errorf("the head is %+v, want %+v", now, good)
					}
					unavailable := (*repository.Unavailable)(nil)
					if _, err := l.Advance(background, good, draft(t, l.Repository(), good.Commit, "a", "2")); !errors.As(err, &unavailable) || !strings.Contains(unavailable.Message, id.String()) {
						t.Errorf("a write: %v", err)
					}
					must.Do(t, l.Close())
				}
				must.Do(t, errors.Join(os.RemoveAll(file), os.WriteFile(file, saved, 0o444)))
				l = opened(t, dir, Options{})
				if now := head(t, l); now != last {
					t.Errorf("mended, and the head is %+v, want %+v", now, last)
				}
			})
		}
	}
}

// commitOn is a commit like its parent, but for what change does.
func commitOn(t *testing.T, l *Ledger, parent string, change func(*object.Commit)) []byte {
	t.Helper()
	_, text := read(t, l.Repository(), parent)
	c := must.Get(object.DecodeCommit(text))(t)
	c.Parents = []object.ID{object.ParseID(parent)}
	change(&c)
	return object.EncodeCommit(c)
}

// commitWith is a commit with one more entry in its root tree.
func commitWith(t *testing.T, l *Ledger, parent string, e object.TreeEntry) []byte {
	t.Helper()
	_, root := layoutOf(t, l.Repository(), parent)
	return commitOn(t, l, parent, func(c *object.Commit) { c.Tree = putTree(t, l.Repository(), put(root, e)) })
}

// TestABranchThatNamesNothing: what was there before is read on, writes are
// refused with the way back, and that way works.
func TestABranchThatNamesNothing(t *testing.T) {
	move := func(t *testing.T, file string) {
		must.Do(t, os.Rename(file, filepath.Join(file, "../../../main.damaged")))
	}
	for name, test := range map[string]struct {
		harm, undo func(t *testing.T, branchFile string)
	}{
		"a commit that does not exist": {func(t *testing.T, file string) {
			must.Do(t, os.WriteFile(file, []byte(missing.String()+"\n"), 0o666))
		}, func(*testing.T, string) {}},
		"a directory": {func(t *testing.T, file string) {
			must.Do(t, os.Remove(file))
			must.Do(t, os.MkdirAll(filepath.Join(file, "x"), 0o777))
		}, move},
		"no id":   {func(t *testing.T, file string) { must.Do(t, os.WriteFile(file, []byte("no id\n"), 0o666)) }, move},
		"nothing": {func(t *testing.T, file string) { must.Do(t, os.WriteFile(file, nil, 0o666)) }, move},
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			l := opened(t, dir, Options{})
			write(t, l, "a", "1")
			good := head(t, l)
			branchFile := filepath.Join(l.Repository(), branch)
			test.harm(t, branchFile)
			recoveryHint := "git update-ref " + branch + " " + good.Commit
			for range 2 {
				if now := head(t, l); now != good {
					t.Errorf("the head is %+v, want %+v", now, good)
				}
				_, err := l.Advance(background, good, draft(t, l.Repository(), good.Commit, "a", "2"))
				unavailable := (*repository.Unavailable)(nil)
				if !errors.As(err, &unavailable) || !errors.Is(err, repository.ErrFailed) || !strings.Contains(unavailable.Message, recoveryHint) {
					t.Errorf("a write: %v", err)
				}
				must.Do(t, l.Close())
				l = opened(t, dir, Options{})
			}
			test.undo(t, branchFile)
			gitIn(t, l.Repository()).run(strings.Fields(recoveryHint)[1:]...)
			write(t, l, "a", "3")
		})
	}
}

// TestAMissingObjectThatComesBack: nobody has to move main for it.
func TestAMissingObjectThatComesBack(t *testing.T) {
	l := started(t)
	write(t, l, "a", "1")
	good := head(t, l)
	text := object.EncodeTree([]object.TreeEntry{{Mode: object.ModeFile, Name: "b.json", ID: missing}})
	configs := object.Hash(object.TreeKind, text)
	commit := putLoose(t, l.Repository(), object.CommitKind,
		commitWith(t, l, good.Commit, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: configs}))
	must.Do(t, os.WriteFile(filepath.Join(l.Repository(), branch), []byte(commit.String()+"\n"), 0o666))
	if now := head(t, l); now != good {
		t.Errorf("the head is %+v, want %+v", now, good)
	}
	putLoose(t, l.Repository(), object.TreeKind, text)
	if _, err := l.Advance(background, good, draft(t, l.Repository(), good.Commit, "a", "2")); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("a write onto the old head: %v", err)
	}
	if now := head(t, l); now.Commit != commit.String() {
		t.Errorf("the head is %+v, want %s", now, commit)
	}
}

// TestADiskThatFailsForAWhile is no damage: the request fails, and the next one
// reads the commit.
func TestADiskThatFailsForAWhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a link that leads to itself stands for the failure of the disk, and not everybody may make links there")
	}
	l := started(t)
	write(t, l, "a", "1")
	good := head(t, l)
	blob := putLoose(t, l.Repository(), object.Blob, []byte("b"))
	configs := putTree(t, l.Repository(), []object.TreeEntry{{Mode: object.ModeFile, Name: "b.json", ID: blob}})
	commit := putLoose(t, l.Repository(), object.CommitKind,
		commitWith(t, l, good.Commit, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: configs}))
	for _, id := range []object.ID{commit, configs} {
		file := filepath.Join(l.Repository(), "objects", id.String()[:2], id.String()[2:])
		must.Do(t, os.Rename(file, file+".away"))
		must.Do(t, os.Symlink(file, file))
		must.Do(t, os.WriteFile(filepath.Join(l.Repository(), branch), []byte(commit.String()+"\n"), 0o666))
		unavailable := (*repository.Unavailable)(nil)
		if now, err := l.Head(background); err == nil || errors.As(err, &unavailable) {
			t.Errorf("without %s the head is %+v, %v", id, now, err)
		}
		must.Do(t, os.Remove(file))
		must.Do(t, os.Rename(file+".away", file))
	}
	if now := head(t, l); now.Commit != commit.String() {
		t.Errorf("the head is %+v, want %s", now, commit)
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
		"deleted, its packs just merged": {func(t *testing.T, l *Ledger) {
			renamed(t, l, "trunk")
			g := gitIn(t, l.Repository())
			g.run("repack", "-adq")
			g.run("update-ref", "-d", "refs/heads/trunk")
			packs, _ := filepath.Glob(filepath.Join(l.Repository(), "objects/pack/*.pack"))
			for _, pack := range packs {
				must.Do(t, os.WriteFile(strings.TrimSuffix(pack, ".pack")+".keep", []byte("svc: kept from git's maintenance for an hour\n"), 0o666))
			}
		}, true},
		"a first commit that came to nothing": {func(t *testing.T, l *Ledger) {
			for _, extension := range []string{".idx", ".pack", ".keep"} {
				must.Do(t, os.WriteFile(filepath.Join(l.Repository(), "objects/pack/pack-"+strings.Repeat("1", 40)+extension), nil, 0o666))
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			l := opened(t, dir, Options{})
			test.make(t, l)
			must.Do(t, l.Close())
			must.Do(t, os.Remove(filepath.Join(dir, cacheName)))
			l = opened(t, dir, Options{})
			h, err := l.Head(background)
			if lost := errors.Is(err, repository.ErrFailed); lost != test.lost || !lost && (err != nil || h.Commit != "") {
				t.Errorf("%+v, %v, want that it is lost: %t", h, err, test.lost)
			}
		})
	}
}

// TestAnIndexThatGitTookForGarbage: git gc deletes one beside which it has not seen the
// pack.
func TestAnIndexThatGitTookForGarbage(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	write(t, l, "a", "1")
	want := head(t, l).Commit
	gitIn(t, l.Repository()).run("repack", "-adq")
	must.Do(t, l.Close())
	indexes, err := filepath.Glob(filepath.Join(l.Repository(), "objects/pack/*.idx"))
	if must.Do(t, err); len(indexes) != 1 {
		t.Fatalf("there are %d packs", len(indexes))
	}
	must.Do(t, os.Remove(indexes[0]))
	if now := head(t, opened(t, dir, Options{})); now.Commit != want {
		t.Errorf("the head is %+v, want %s", now, want)
	}
	gitIn(t, l.Repository()).run("cat-file", "-e", want)
}

// renamed is a repository with a commit whose branch has another name.
func renamed(t *testing.T, l *Ledger, name string) {
	t.Helper()
	write(t, l, "a", "1")
	gitIn(t, l.Repository()).run("branch", "-m", "main", name)
}

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// TestTheBranchIsReadWhenItIsAnotherFile, and only then, however
// much the new file looks like the one before.
func TestTheBranchIsReadWhenItIsAnotherFile(t *testing.T) {
	read := 0
	l := opened(t, created(t), Options{Step: func(op Operation, path string) error {
		if op == OpRead && strings.HasSuffix(path, branch) {
			read++
		}
		return nil
	}})
	first, second := write(t, l, "a", "1"), write(t, l, "a", "2")
	file := filepath.Join(l.Repository(), filepath.FromSlash(branch))
	for _, test := range []struct {
		name string
		move func()
		head string
	}{
		{"nothing", func() {}, second.SHA},
		{"git", func() { gitIn(t, l.Repository()).run("update-ref", "refs/heads/main", first.SHA) }, first.SHA},
		{"a file of the same size and time", func() {
			before, err := os.Stat(file)
			must.Do(t, err)
			must.Do(t, os.WriteFile(file+".new", []byte(second.SHA+"\n"), 0o644))
			must.Do(t, os.Chtimes(file+".new", time.Time{}, before.ModTime()))
			must.Do(t, os.Rename(file+".new", file))
		}, second.SHA},
		{"the same file, written at the same time as before", func() {
			must.Do(t, os.WriteFile(file, []byte(second.SHA+"\n"), 0o644))
			head(t, l)
			now, err := os.Stat(file)
			must.Do(t, err)
			must.Do(t, os.WriteFile(file, []byte(first.SHA+"\n"), 0o644))
			must.Do(t, os.Chtimes(file, time.Time{}, now.ModTime()))
		}, first.SHA},
		{"git again", func() { gitIn(t, l.Repository()).run("update-ref", "refs/heads/main", second.SHA) }, second.SHA},
		{"packed", func() { gitIn(t, l.Repository()).run("pack-refs", "--all") }, second.SHA},
		{"loose again", func() { gitIn(t, l.Repository()).run("update-ref", "refs/heads/main", first.SHA) }, first.SHA},
	} {
		test.move()
		if got := head(t, l); got.Commit != test.head {
			t.Errorf("%s: %s, want %s", test.name, got.Commit, test.head)
		}
	}
	long := time.Now().Add(-time.Minute) // the time of a file that has just changed may stay the same
	must.Do(t, os.Chtimes(file, long, long))
	head(t, l)
	read = 0
	for range 100 {
		head(t, l)
	}
	if read > 0 {
		t.Errorf("the branch was read %d times while nothing moved it", read)
	}
}

// TestAnotherDirectoryIsNotWritten: a server whose directory was moved away, or was
// replaced by a copy that another one serves, leaves the other alone and says why.
func TestAnotherDirectoryIsNotWritten(t *testing.T) {
	for name, link := range map[string]func(from, to string) error{"by its name": os.Rename, "by a link": os.Symlink} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			if name == "by a link" {
				must.Do(t, os.Rename(dir, dir+".old"))
				must.Do(t, link(dir+".old", dir))
			}
			first := opened(t, dir, Options{})
			before := write(t, first, "a", "1")
			must.Do(t, os.CopyFS(dir+".copy", os.DirFS(dir)))
			must.Do(t, os.Rename(dir, dir+".gone")) // the directory, or the link to it
			if _, err := first.Head(t.Context()); err == nil {
				t.Error("a directory that has gone is read")
			}
			must.Do(t, link(dir+".copy", dir))
			second := opened(t, dir, Options{})

			from := headOf(first.history.Load())
			from.Access = head(t, second).Access
			_, err := first.Advance(t.Context(), from, draft(t, first.Repository(), from.Commit, "a", "2"))
			var reason *repository.Unavailable
			if !errors.As(err, &reason) || !repository.Refused(err) || !strings.Contains(reason.Message, "replaced by another") {
				t.Errorf("a write into another directory: %v", err)
			}
			if _, err := first.Current(t.Context()); !errors.As(err, &reason) {
				t.Errorf("a read of another directory: %v", err)
			}
			if err := first.answers.Put(t.Context(), repository.Answered{ID: "x"}); !errors.As(err, &reason) {
				t.Errorf("an answer into another directory: %v", err)
			}
			if _, err := first.Find(t.Context(), ""); !errors.As(err, &reason) {
				t.Errorf("a key of another directory: %v", err)
			}
			if got := head(t, second); got.Commit != before.SHA {
				t.Errorf("the other directory's head is %s, want %s", got.Commit, before.SHA)
			}
			after := write(t, second, "a", "3")
			if got := gitIn(t, second.Repository()).run("rev-parse", "main"); strings.TrimSpace(got) != after.SHA {
				t.Errorf("main is %s after a write of %s", got, after.SHA)
			}
			if _, err := os.Stat(filepath.Join(second.Repository(), filepath.FromSlash(branchLock))); err == nil {
				t.Error("main stays locked")
			}
		})
	}
}

// TestADirectoryThatIsMovedAwayDuringAWrite is told as one that was moved before.
func TestADirectoryThatIsMovedAwayDuringAWrite(t *testing.T) {
	dir, armed := created(t), false
	l := opened(t, dir, Options{Step: func(op Operation, _ string) error {
		if armed && op == OpCreate {
			armed = false
			return os.Rename(dir, dir+".away")
		}
		return nil
	}})
	from := head(t, l)
	next := draft(t, l.Repository(), from.Commit, "a", "1")
	armed = true
	if _, err := l.Advance(t.Context(), from, next); !errors.As(err, new(*repository.Unavailable)) || !repository.Refused(err) {
		t.Errorf("a write beside a move: %v", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("there is a directory again")
	}
}

// TestARevokedKeyIsRefusedAtOnce, by whatever name the registry's file is reached.
func TestARevokedKeyIsRefusedAtOnce(t *testing.T) {
	for name, move := range map[string]func(t *testing.T, file string, text []byte){
		"a link's target": func(t *testing.T, file string, text []byte) {
			must.Do(t, os.WriteFile(file+".target.new", text, 0o600))
			must.Do(t, os.Rename(file+".target.new", file+".target"))
		},
		"another name of the file": func(t *testing.T, file string, text []byte) {
			must.Do(t, os.WriteFile(file+".second", text, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := created(t)
			file := filepath.Join(dir, registryName)
			if strings.Contains(name, "link") {
				must.Do(t, os.Rename(file, file+".target"))
				must.Do(t, os.Symlink(file+".target", file))
			} else {
				must.Do(t, os.Link(file, file+".second"))
			}
			l := opened(t, dir, Options{})
			version := head(t, l).Access
			text, err := os.ReadFile(file)
			must.Do(t, err)
			for range 20 {
				old := fmt.Sprintf(`"version": %d`, version)
				version++
				text = []byte(strings.Replace(string(text), old, fmt.Sprintf(`"version": %d`, version), 1))
				move(t, file, text)
				if got := head(t, l).Access; got != version {
					t.Fatalf("version %d is read, where %d is written", got, version)
				}
			}
		})
	}
}

// TestAnotherRepositoryIsNeitherReadNorWritten that lies in the place of the one that was
// opened: what is written would be gone when that one comes back, and what is read is of
// another time. Nothing is written beside other folders of packs.
func TestAnotherRepositoryIsNeitherReadNorWritten(t *testing.T) {
	for _, part := range []string{"", "objects", "objects/pack"} {
		l := opened(t, created(t), Options{})
		replaced := filepath.Join(l.Repository(), part)
		write(t, l, "a", "1")
		from := head(t, l)
		must.Do(t, os.CopyFS(replaced+".copy", os.DirFS(replaced)))
		must.Do(t, os.Rename(replaced, replaced+".away"))
		must.Do(t, os.Rename(replaced+".copy", replaced))
		if _, err := l.Advance(background, from, draft(t, l.Repository(), from.Commit, "a", "2")); err == nil || !strings.Contains(err.Error(), "the repository was replaced") {
			t.Errorf("a write beside another %q: %v", part, err)
		}
		if _, err := l.Head(background); part == "" && (err == nil || !strings.Contains(err.Error(), "the repository was replaced")) {
			t.Errorf("a read beside another %q: %v", part, err)
		}
		must.Do(t, os.RemoveAll(replaced))
		must.Do(t, os.Rename(replaced+".away", replaced))
		write(t, l, "a", "3")
	}
}

package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// recorder notes the steps on the file system, and lets one of them fail.
type recorder struct {
	steps []string
	fail  int // the number of the step that fails, from 1
	then  func() error
}

func (r *recorder) step(op Operation, path string) error {
	r.steps = append(r.steps, string(op)+" "+filepath.Base(path))
	if len(r.steps) == r.fail {
		return r.then()
	}
	return nil
}

// The order of the steps is what survives a power cut: the new id before the
// branch names it, the name before the answer.
func TestAdvanceFlushesBeforeItReturns(t *testing.T) {
	var r recorder
	l := opened(t, created(t), Options{Step: r.step})
	for n := range 3 {
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", fmt.Sprint(n))
		r.steps = nil
		must.Get(l.Advance(background, from, c))(t)
		var order []string
		for _, step := range r.steps {
			if op, _, _ := strings.Cut(step, " "); slices.Contains([]string{"create", "write", "sync", "link", "rename", "syncdir"}, op) {
				order = append(order, step)
			}
		}
		want := []string{
			"create svc-next", "write svc-next", "sync svc-next", "link main.lock", "rename main", "syncdir heads",
			"write history.cache",
		}
		if !slices.Equal(order, want) {
			t.Errorf("commit %d:\n%s, want\n%s", n, strings.Join(order, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestOpenFlushesTheHead: the process that moved it may have been killed before that.
func TestOpenFlushesTheHead(t *testing.T) {
	dir := created(t)
	must.Do(t, opened(t, dir, Options{}).Close())
	var r recorder
	l := opened(t, dir, Options{Step: r.step})
	if !slices.Contains(r.steps, "syncdir heads") {
		t.Errorf("%q", r.steps)
	}
	must.Do(t, l.Close())
	// git may have packed all branches, and removed their folder.
	must.Do(t, os.RemoveAll(filepath.Join(l.Repository(), "refs", "heads")))
	opened(t, dir, Options{})
}

// TestInstallFlushesFirst: all names below are durable before the directory has
// its own, and that one is before the answer.
func TestInstallFlushesFirst(t *testing.T) {
	var r recorder
	parent := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(parent, "unfinished", "a", "b"), 0o777))
	must.Do(t, filesystem{step: r.step}.install(filepath.Join(parent, "unfinished"), filepath.Join(parent, "data")))
	want := []string{"syncdir unfinished", "syncdir a", "syncdir b", "rename data", "syncdir " + filepath.Base(parent)}
	if !slices.Equal(r.steps, want) {
		t.Errorf("%q, want %q", r.steps, want)
	}
}

func TestAnEditOfTheRegistryIsFlushed(t *testing.T) {
	var r recorder
	l := opened(t, created(t), Options{Step: r.step})
	r.steps = nil
	must.Get(addUser(t, l.Registry(), "ada"))(t)
	want := []string{
		"create registry.json.next", "write registry.json.next", "sync registry.json.next", "rename registry.json", "syncdir data",
	}
	rest := r.steps
	for _, step := range want {
		at := slices.Index(rest, step)
		if at < 0 {
			t.Fatalf("no %s in its place in\n%s", step, strings.Join(r.steps, "\n"))
		}
		rest = rest[at+1:]
	}
}

// Whatever step of a write fails: the answer is the truth or an error, asking
// again tells how it ended, and nothing is left in git's way.
func TestEveryStepOfAWriteMayFail(t *testing.T) {
	cause := syscall.ENOSPC
	for fail, done := 1, false; !done; fail++ {
		r := &recorder{fail: -1, then: func() error { return cause }}
		l := opened(t, created(t), Options{Step: r.step})
		first := write(t, l, "a", "1")
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", "2")
		r.steps, r.fail = nil, fail
		after, err := l.Advance(background, from, c)
		done = len(r.steps) < fail
		failed := r.steps[min(fail, len(r.steps))-1]
		r.fail = -1
		checkEnd(t, l, failed, from, c, after, err)
		if again := must.Get(l.Advance(background, from, c))(t); again.Commit != c.SHA || again.Sequence != first.Sequence+1 || head(t, l) != again {
			t.Errorf("%s failed: then the head is %+v", failed, again)
		}
		write(t, l, "a", "3")
		agree(t, l, 3)
		must.Do(t, l.Close())
		agree(t, opened(t, l.dir, Options{}), 3)
	}
}

func checkEnd(t *testing.T, l *Ledger, failed string, from repository.Head, c repository.Commit, after repository.Head, err error) {
	t.Helper()
	now := head(t, l)
	switch {
	case err == nil && (after != now || after.Commit != c.SHA):
		t.Errorf("%s failed: answered %+v, and the head is %+v", failed, after, now)
	case errors.Is(err, repository.ErrMoved):
		t.Errorf("%s failed: ErrMoved, which says more than is known", failed)
	case errors.Is(err, repository.ErrFailed) && now != from:
		t.Errorf("%s failed: answered that nothing was written, and the head is %+v", failed, now)
	case err != nil && now == from && !strings.HasPrefix(failed, "rename") && !(errors.Is(err, repository.ErrFailed) && strings.Contains(err.Error(), "the disk is full, and nothing was written")):
		t.Errorf("%s failed: %v, want that the disk is full and nothing was written", failed, err)
	case err != nil && now != from && now.Commit != c.SHA:
		t.Errorf("%s failed: %v, and the head is %+v", failed, err, now)
	case err != nil && strings.HasPrefix(failed, "syncdir") && now.Commit != c.SHA:
		t.Errorf("%s failed after the rename, and the head is %+v", failed, now)
	}
	if _, err := os.Stat(filepath.Join(l.Repository(), branchLock)); err == nil && failed != "remove main.lock" {
		t.Errorf("%s failed and git's lock stayed", failed)
	}
}

// Where the file system has no hard links, the lock is a copy.
func TestWithoutHardLinks(t *testing.T) {
	l := opened(t, created(t), Options{Step: func(op Operation, _ string) error {
		if op == OpLink {
			return errors.ErrUnsupported
		}
		return nil
	}})
	write(t, l, "a", "1")
	write(t, l, "a", "2")
	holdBranch(t, l)
	at := head(t, l)
	if _, err := l.Advance(background, at, draft(t, l.Repository(), at.Commit, "a", "3")); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("with git's lock: %v", err)
	}
}

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
			before := must.Get(os.Stat(file))(t)
			must.Do(t, os.WriteFile(file+".new", []byte(second.SHA+"\n"), 0o644))
			must.Do(t, os.Chtimes(file+".new", time.Time{}, before.ModTime()))
			must.Do(t, os.Rename(file+".new", file))
		}, second.SHA},
		{"the same file, written at the same time as before", func() {
			must.Do(t, os.WriteFile(file, []byte(second.SHA+"\n"), 0o644))
			head(t, l)
			now := must.Get(os.Stat(file))(t)
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
			text := must.Get(os.ReadFile(file))(t)
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

// However the cache is cut or damaged, what counts of it is the beginning that is whole.
func TestTornCache(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	var ends []int64
	var want []repository.Commit
	path := filepath.Join(dir, cacheName)
	for n := range 4 {
		want = append(want, write(t, l, "a", fmt.Sprint(n)))
		info := must.Get(os.Stat(path))(t)
		ends = append(ends, info.Size())
	}
	must.Do(t, l.Close())
	whole := must.Get(os.ReadFile(path))(t)
	check := func(name string, content []byte, lost int) {
		t.Helper()
		kept := len(ends) - lost
		decoded, err := decodeCache(content)
		switch {
		case err != nil && kept == 0:
		case err != nil || len(decoded.rows) != kept || kept > 0 && decoded.size != ends[kept-1]:
			t.Errorf("%s: %d rows in %d bytes count, %v, want %d", name, len(decoded.rows), decoded.size, err, kept)
		}
	}
	for size := range len(whole) + 1 {
		check(fmt.Sprintf("cut at %d", size), whole[:size], len(slices.DeleteFunc(slices.Clone(ends), func(end int64) bool { return end <= int64(size) })))
	}
	for position := range whole {
		damaged := bytes.Clone(whole)
		damaged[position] ^= 1
		check(fmt.Sprintf("damaged at %d", position), damaged, len(slices.DeleteFunc(slices.Clone(ends), func(end int64) bool { return end <= int64(position) })))
	}
	check("with a tail", append(bytes.Clone(whole), strings.Repeat("x", 100)...), 0)
	check("with an old row behind it", append(bytes.Clone(whole), whole[ends[2]:]...), 0)

	// A start walks for what is missing, and makes the file whole.
	must.Do(t, os.WriteFile(path, whole[:ends[1]+7], 0o600))
	l = opened(t, dir, Options{Rewritten: func(w Rewrite) { t.Error(w) }})
	rows := must.Get(l.Since(background, head(t, l), 0))(t)
	after := must.Get(os.ReadFile(path))(t)
	if decoded, err := decodeCache(after); fmt.Sprint(rows) != fmt.Sprint(want) || err != nil || len(decoded.rows) != len(want) || len(after) != len(whole) {
		t.Errorf("%v, want %v; the cache has %d rows in %d bytes, %v", rows, want, len(decoded.rows), len(after), err)
	}
}

// A batch that was not finished leaves nothing: its rows may lack ancestors of
// one another.
func TestATornBatchIsDropped(t *testing.T) {
	l := started(t)
	g := gitIn(t, l.Repository())
	w := newWorld(3, 30)
	w.load(g)
	tip := len(w.made) - 1
	g.run("update-ref", "refs/heads/main", w.made[tip].sha)
	w.check(t, l, tip)
	must.Do(t, l.Close())
	path := filepath.Join(l.dir, cacheName)
	whole := must.Get(os.ReadFile(path))(t)
	if decoded := must.Get(decodeCache(whole))(t); len(decoded.rows) == 0 {
		t.Fatal("the batch is not in the cache")
	}
	must.Do(t, os.WriteFile(path, whole[:len(whole)*2/3], 0o600))
	if decoded, err := decodeCache(whole[:len(whole)*2/3]); err != nil || len(decoded.rows) != 0 {
		t.Errorf("%d rows of a torn batch count, %v", len(decoded.rows), err)
	}
	l = opened(t, l.dir, Options{})
	w.check(t, l, tip)
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	write(t, l, "a", "1")
	must.Do(t, l.Close())
	must.Do(t, os.Remove(filepath.Join(dir, cacheName)))
	must.Do(t, os.Mkdir(filepath.Join(dir, cacheName), 0o700)) // in its place
	l = opened(t, dir, Options{})
	write(t, l, "a", "2")
	agree(t, l, 2)
}

// TestACacheIsWrittenThroughNoLink: a data directory may have come with files.
func TestACacheIsWrittenThroughNoLink(t *testing.T) {
	dir, elsewhere := created(t), filepath.Join(t.TempDir(), "elsewhere")
	next := filepath.Join(dir, cacheName+".next")
	if err := os.Symlink(elsewhere, next); err != nil {
		t.Skip(err)
	}
	l, err := Open(background, dir, Options{})
	if err == nil {
		err = l.Close()
	}
	if err == nil || !strings.Contains(err.Error(), next+" is no file but a link") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("a file is made elsewhere")
	}
}

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/testenv"
)

var git, tryGit = realgit.Run, realgit.Try

func fsck(t *testing.T, dir string) {
	t.Helper()
	if out := git(t, dir, "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("git fsck says: %s", out)
	}
}

// store is a repository on disk with a ledger in memory, written to by one.
type store struct {
	t       *testing.T
	dir     string
	objects *disk.Objects
	ledger  *repositorytest.Memory
	repo    *repository.Repository
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{t: t, dir: t.TempDir(), ledger: repositorytest.NewMemory()}
	s.objects = must.Get(disk.Init(s.dir))(t)
	s.repo = repository.New(s.ledger, s.objects)
	return s
}

func (s *store) commit(path, text string) *repository.Snapshot {
	s.t.Helper()
	head := must.Get(s.ledger.Head(ctx))(s.t)
	base := must.Get(s.repo.Snapshot(ctx, head))(s.t)
	return must.Get(s.repo.Commit(ctx, base, draft(path, text)))(s.t)
}

// publish lets the branch name the head, and git have the packs, as after an hour.
func (s *store) publish() repository.Head {
	s.t.Helper()
	for _, keep := range keeps(s.t, s.dir) {
		must.Do(s.t, os.Remove(keep))
	}
	head := must.Get(s.ledger.Head(ctx))(s.t)
	git(s.t, s.dir, "update-ref", "refs/heads/main", head.Commit)
	return head
}

// wantTree compares what Tree and the objects of all past commits say with
// what git says.
func wantTree(t *testing.T, dir string, o *disk.Objects) {
	t.Helper()
	commit := strings.TrimSpace(git(t, dir, "rev-parse", "refs/heads/main"))
	tree := must.Get(o.Tree(ctx, repository.Head{Commit: commit}))(t)
	want := map[string]string{}
	for line := range strings.Lines(git(t, dir, "ls-tree", "-r", commit)) {
		if fields := strings.Fields(line); repository.IsFile(fields[3]) {
			want[fields[3]] = fields[2]
		}
	}
	if len(want) != len(tree.Files) {
		t.Errorf("%d files are read, git has %d", len(tree.Files), len(want))
	}
	for path, id := range want {
		if object.Hash(object.Blob, tree.Files[path]).String() != id {
			t.Errorf("%s is %q, git has %s", path, tree.Files[path], id)
		}
	}
	reader := o.Reader(ctx)
	defer reader.Close()
	for line := range strings.Lines(git(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")) {
		fields := strings.Fields(line)
		if kind, _, err := reader.Read(object.ParseID(fields[0])); err != nil || string(kind) != fields[1] {
			t.Errorf("%s is a %q, %v, git says a %s", fields[0], kind, err, fields[1])
		}
	}
}

func document(n, changed int) string {
	var b strings.Builder
	for i := range 60 {
		value := i * n
		if i == changed%60 {
			value = 1_000_000 + changed
		}
		fmt.Fprintf(&b, "  \"field %d of document %d\": %d,\n", i, n, value)
	}
	return b.String()
}

// TestObjectsOfRealGit reads what git commit and git push bring, and what git
// gc makes of it, with an instance that was open all the time.
func TestObjectsOfRealGit(t *testing.T) {
	s := newStore(t)
	for i := range 12 {
		s.commit(fmt.Sprintf("feature-flags/f%d.json", i%4), document(i%4, i))
	}
	old := must.Get(s.ledger.History(ctx, s.publish(), repository.Page{}))(t)
	wantTree(t, s.dir, s.objects)

	clone := filepath.Join(t.TempDir(), "clone")
	git(t, s.dir, "clone", "--quiet", s.dir, clone)
	for i := range 15 {
		path := fmt.Sprintf("configs/c%d.json", i%3)
		must.Do(t, os.MkdirAll(filepath.Join(clone, "configs"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(clone, path), []byte(document(i%3, 100+i)), 0o600))
		git(t, clone, "add", ".")
		git(t, clone, "commit", "--quiet", "-m", fmt.Sprint("by git ", i))
		if i%5 == 4 {
			git(t, clone, "push", "--quiet", "origin", "main")
			wantTree(t, s.dir, s.objects)
		}
	}
	// A work tree of the repository itself writes loose objects into it.
	work := filepath.Join(t.TempDir(), "work")
	git(t, s.dir, "worktree", "add", "--quiet", work, "main")
	must.Do(t, os.WriteFile(filepath.Join(work, "feature-flags/loose.json"), []byte("{}\n"), 0o600))
	git(t, work, "add", ".")
	git(t, work, "commit", "--quiet", "-m", "loose")
	wantTree(t, s.dir, s.objects)
	for range 2 { // the second run deletes what the first has packed
		git(t, s.dir, "maintenance", "run", "--quiet", "--task=loose-objects")
		wantTree(t, s.dir, s.objects)
	}

	for _, repack := range [][]string{
		{"gc", "--quiet"},
		{"repack", "-adf", "--depth=100", "--window=100", "--quiet"},
		{"-c", "repack.useDeltaBaseOffset=false", "repack", "-adf", "--quiet"},
		{"gc", "--quiet", "--prune=now"},
	} {
		git(t, s.dir, repack...)
		wantTree(t, s.dir, s.objects)
		wantTree(t, s.dir, must.Get(disk.Open(s.dir))(t))
		for _, c := range old { // whose rows name packs that are gone
			for _, touch := range c.Touched {
				if text := must.Get(s.objects.Blob(ctx, touch))(t); object.Hash(object.Blob, text).String() != touch.Blob {
					t.Errorf("%+v is %q", touch, text)
				}
			}
		}
	}
}

// TestCompactPacksOfGit merges packs with deltas of both kinds, but for those that a
// multi-pack-index names.
func TestCompactPacksOfGit(t *testing.T) {
	s := newStore(t)
	for round, offsets := range []string{"true", "false"} {
		for i := range 30 {
			s.commit(fmt.Sprintf("feature-flags/f%d.json", i%4), document(i%4, 100*round+i))
		}
		s.publish()
		git(t, s.dir, "-c", "repack.useDeltaBaseOffset="+offsets, "repack", "-adfk", "--quiet")
	}
	for i := range 40 {
		s.commit(fmt.Sprintf("feature-flags/f%d.json", i%4), document(i%4, 1000+i))
	}
	s.publish()
	git(t, s.dir, "multi-pack-index", "write")
	named := len(must.Get(filepath.Glob(filepath.Join(s.dir, "objects/pack/*.pack")))(t))
	for i := range 4 {
		s.commit("feature-flags/after.json", document(1, 2000+i))
	}
	s.publish()
	// The packs of a multi-pack-index are left to git.
	if done := must.Get(s.objects.Compact(ctx))(t); done.Merged != 4 || done.Left != named+1 {
		t.Errorf("beside a multi-pack-index of %d packs, compacting did %+v", named, done)
	}
	git(t, s.dir, "multi-pack-index", "verify")
	// One that names packs which are gone is deleted.
	gone := must.Get(filepath.Glob(filepath.Join(s.dir, "objects/pack/*.idx")))(t)
	git(t, s.dir, "multi-pack-index", "write")
	kept := must.Get(os.ReadFile(filepath.Join(s.dir, "objects/pack/multi-pack-index")))(t)
	// The same objects once more in a pack of their own.
	git(t, s.dir, "-c", "repack.useDeltaBaseOffset=false", "repack", "-adf", "--quiet")
	if err := os.WriteFile(filepath.Join(s.dir, "objects/pack/multi-pack-index"), kept, 0o600); err != nil || len(gone) < 3 {
		t.Fatal(err, gone)
	}
	if done := must.Get(s.objects.Compact(ctx))(t); done.Left > 2 {
		t.Errorf("compacting did %+v", done)
	}
	fsck(t, s.dir)
	wantTree(t, s.dir, s.objects)
	wantTree(t, s.dir, must.Get(disk.Open(s.dir))(t))
}

// TestCompact compacts now and then, as the owner does, and looks at what is
// left.
func TestCompact(t *testing.T) {
	testenv.Slow(t)
	s := newStore(t)
	imported := draft("svc.json", "{}\n")
	for i := range 40 {
		imported.Changes = append(imported.Changes, repository.Change{Path: fmt.Sprintf("configs/some-name-%d.json", i), Content: []byte(document(i, 0))})
	}
	base := must.Get(s.repo.Snapshot(ctx, repository.Head{}))(t)
	must.Get(s.repo.Commit(ctx, base, imported))(t)
	var touches []repository.Touch
	most := 0
	for i := range 200 {
		head := s.commit(fmt.Sprintf("feature-flags/f%d.json", i%60), document(i%60, i)).Head
		rows := must.Get(s.ledger.History(ctx, head, repository.Page{Limit: 1}))(t)
		touches = append(touches, rows[0].Touched...)
		if i%20 == 19 {
			must.Get(s.objects.Compact(ctx))(t)
			most = max(most, len(s.objects.Packs()))
		}
	}
	if most > 6 {
		t.Errorf("up to %d packs were left for 200 commits", most)
	}
	for _, o := range []*disk.Objects{s.objects, must.Get(disk.Open(s.dir))(t)} {
		for _, touch := range touches {
			must.Get(o.Blob(ctx, touch))(t)
		}
	}
	s.publish()
	fsck(t, s.dir)
	wantTree(t, s.dir, s.objects)
	packs := must.Get(filepath.Glob(filepath.Join(s.dir, "objects/pack/*.idx")))(t)
	deepest, deltas := 0, 0
	for _, pack := range packs {
		for line := range strings.SplitSeq(git(t, s.dir, "verify-pack", "-v", pack), "\n") {
			if fields := strings.Fields(line); len(fields) == 7 {
				deltas++
				deepest = max(deepest, must.Get(strconv.Atoi(fields[5]))(t))
			}
		}
	}
	if deltas < 150 || deepest > 50 {
		t.Errorf("there are %d deltas, the deepest of %d", deltas, deepest)
	}
	if done := must.Get(s.objects.Compact(ctx))(t); done.Merged != 0 {
		t.Errorf("there was something left to compact: %+v", done)
	}
}

// onBranch also moves the branch when the head moves, as a ledger on disk.
type onBranch struct {
	*repositorytest.Memory
	dir string
}

func onBranchOf(s *store) *repository.Repository {
	return repository.New(&onBranch{Memory: s.ledger, dir: s.dir}, s.objects)
}

func (b *onBranch) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	branch := filepath.Join(b.dir, "refs/heads/main")
	lock, err := os.OpenFile(branch+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	for errors.Is(err, fs.ErrExist) { // git packs references
		lock, err = os.OpenFile(branch+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return repository.Head{}, err
	}
	_, err = lock.WriteString(c.SHA + "\n")
	if err := errors.Join(err, lock.Close(), os.Rename(branch+".lock", branch)); err != nil {
		return repository.Head{}, err
	}
	return b.Memory.Advance(ctx, from, c)
}

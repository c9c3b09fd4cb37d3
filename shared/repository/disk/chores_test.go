package disk_test

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/testenv"
)

// beside is a file system with somebody else at work beside each rename.
type beside struct {
	billy.Filesystem
	work func()
}

func (b beside) Rename(from, to string) error {
	b.work()
	return b.Filesystem.Rename(from, to)
}

// TestGitsChoresTakeNoFileInUse: git prune removes temporary files of its own
// naming at once, and those of svc are not named so.
func TestGitsChoresTakeNoFileInUse(t *testing.T) {
	for _, chore := range [][]string{{"prune", "--expire=now"}, {"gc", "--prune=now", "-q"}, {"repack", "-adq"}} {
		dir := t.TempDir()
		must.Get(disk.Init(dir))(t)
		fs := beside{osfs.New(dir, osfs.WithBoundOS()), func() { git(t, dir, chore...) }}
		o := must.Get(disk.OpenIn(fs))(t)
		for _, text := range []string{"one", "two", "three"} {
			p := encode(t, text)
			if err := o.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
				t.Errorf("beside git %s: %v", chore[0], err)
			}
		}
		if _, err := o.Compact(ctx); err != nil {
			t.Errorf("merging beside git %s: %v", chore[0], err)
		}
	}
}

// repacked is a file system where every pack that is about to be read has just
// been packed again, and so has another name.
type repacked struct {
	billy.Filesystem
	busy *atomic.Bool
}

func (r repacked) Open(name string) (billy.File, error) {
	if r.busy.Load() && strings.HasSuffix(name, ".pack") {
		old := strings.TrimSuffix(name, ".pack")
		again := fmt.Sprintf("%s/pack-%x", path.Dir(name), sha1.Sum([]byte(old)))
		for _, extension := range []string{".pack", ".idx"} {
			if err := r.Filesystem.Rename(old+extension, again+extension); err != nil {
				return nil, err
			}
		}
	}
	return r.Filesystem.Open(name)
}

// TestPacksAreMergedAfterAnEndlessRepack: as long as git packs as fast as we
// do there is nothing to merge, which is no failure.
func TestPacksAreMergedAfterAnEndlessRepack(t *testing.T) {
	dir := t.TempDir()
	must.Get(disk.Init(dir))(t)
	fs := repacked{osfs.New(dir, osfs.WithBoundOS()), new(atomic.Bool)}
	o := must.Get(disk.OpenIn(fs))(t)
	putAll(t, o, numbered(5)...)
	fs.busy.Store(true)
	if done, err := o.Compact(ctx); err != nil || done.Merged != 0 || done.Left != 5 {
		t.Errorf("beside an endless repack, compacting did %+v, %v", done, err)
	}
	fs.busy.Store(false)
	if done := must.Get(o.Compact(ctx))(t); done.Merged != 5 || done.Left != 1 {
		t.Errorf("after it, compacting did %+v", done)
	}
}

// elsewhen is a file system of a machine whose clock is another.
type elsewhen struct {
	billy.Filesystem
	by time.Duration
}

type shifted struct {
	os.FileInfo
	by time.Duration
}

func (s shifted) ModTime() time.Time { return s.FileInfo.ModTime().Add(s.by) }

func (e elsewhen) Stat(path string) (os.FileInfo, error) {
	info, err := e.Filesystem.Stat(path)
	if err != nil {
		return nil, err
	}
	return shifted{info, e.by}, nil
}

func (e elsewhen) ReadDir(path string) ([]os.FileInfo, error) {
	infos, err := e.Filesystem.ReadDir(path)
	for i := range infos {
		infos[i] = shifted{infos[i], e.by}
	}
	return infos, err
}

// TestLeftoversAgeByTheFileSystemsClock: this machine's may be years away from
// that of a file server.
func TestLeftoversAgeByTheFileSystemsClock(t *testing.T) {
	for _, by := range []time.Duration{-87600 * time.Hour, 87600 * time.Hour} {
		dir := t.TempDir()
		must.Get(disk.Init(dir))(t)
		o := must.Get(disk.OpenIn(elsewhen{osfs.New(dir, osfs.WithBoundOS()), by}))(t)
		young, old := filepath.Join(dir, "objects/pack/svc-tmp-A-pack-YOUNG"), filepath.Join(dir, "objects/pack/svc-tmp-A-pack-OLD")
		for _, path := range []string{young, old} {
			must.Do(t, os.WriteFile(path, nil, 0o600))
		}
		long := time.Now().Add(-48 * time.Hour)
		must.Do(t, os.Chtimes(old, long, long))
		must.Get(o.Compact(ctx))(t)
		if _, err := os.Stat(young); err != nil {
			t.Errorf("a clock that is off by %s: a file that is being written is gone: %v", by, err)
		}
		if _, err := os.Stat(old); err == nil {
			t.Errorf("a clock that is off by %s: what was left behind is still there", by)
		}
		if left := must.Get(filepath.Glob(filepath.Join(dir, "objects/pack/*clock*")))(t); len(left) > 0 {
			t.Errorf("%q is left", left)
		}
	}
}

// TestPacksAreListedBesideWriters: files that get their names, or are deleted, while
// the folder is listed are no failure.
func TestPacksAreListedBesideWriters(t *testing.T) {
	dir := t.TempDir()
	o := must.Get(disk.Init(dir))(t)
	putAll(t, o, numbered(3)...)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for writer := range 4 {
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				path := filepath.Join(dir, "objects/pack", fmt.Sprintf("svc-tmp-OTHER-%d-%d", writer, i))
				must.Report(t, os.WriteFile(path, nil, 0o600))
				if old := fmt.Sprintf("svc-tmp-OTHER-%d-%d", writer, i-1000); i >= 1000 {
					_ = os.Remove(filepath.Join(dir, "objects/pack", old))
				}
			}
		})
	}
	for range 40 {
		if packs, err := o.List(ctx); err != nil || len(packs) != 3 {
			t.Errorf("%d packs are listed: %v", len(packs), err)
			break
		}
	}
	close(stop)
	writing.Wait()
}

// chores are what git does to packs, by itself (git maintenance start) or when it is
// asked to.
var chores = [][]string{
	{"maintenance", "run", "--quiet", "--task=incremental-repack"},
	{"maintenance", "run", "--quiet", "--task=loose-objects"},
	{"maintenance", "run", "--quiet", "--task=gc"},
	{"maintenance", "run", "--quiet", "--task=commit-graph"},
	{"maintenance", "run", "--quiet", "--task=pack-refs"},
	{"multi-pack-index", "write"},
	{"multi-pack-index", "expire"},
	{"repack", "-adkq", "--write-midx"},
	{"repack", "-adq"},
	{"repack", "-dq", "--geometric=2"},
}

// TestMaintenanceLosesNoCommit: whatever git's maintenance deletes while commits are
// made, read, and packs are merged, every commit that was acknowledged is there
// afterwards, for git and for svc.
func TestMaintenanceLosesNoCommit(t *testing.T) {
	testenv.Slow(t)
	runs, length := 1, time.Second
	if os.Getenv("SVC_TEST_FULL") != "" {
		runs, length = 30, 12*time.Second
	}
	for _, chore := range chores {
		t.Run(strings.TrimPrefix(chore[len(chore)-1], "--"), func(t *testing.T) {
			for run := range runs {
				if commitBeside(t, length, chore); t.Failed() {
					t.Fatalf("in run %d of git %s", run+1, strings.Join(chore, " "))
				}
			}
		})
	}
}

func commitBeside(t *testing.T, length time.Duration, chore []string) {
	s := newStore(t)
	s.repo = onBranchOf(s)
	s.commit("svc.json", "{}\n")
	stop := make(chan struct{})
	var running sync.WaitGroup
	loop := func(step func() error) {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := step(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	loop(func() error {
		// Packs vanish under it, so that it may give up.
		_, _ = tryGit(t, s.dir, chore...)
		if chore[1] == "expire" {
			_, _ = tryGit(t, s.dir, "multi-pack-index", "write")
		}
		return nil
	})
	loop(func() error {
		_, err := s.objects.Compact(ctx)
		return err
	})
	loop(func() error {
		head, err := s.ledger.Head(ctx)
		if err != nil {
			return err
		}
		_, err = repository.New(s.ledger, s.objects).Snapshot(ctx, head)
		return err
	})
	var acknowledged []string
	for until := time.Now().Add(length); time.Now().Before(until) || len(acknowledged) < 20; {
		i := len(acknowledged)
		acknowledged = append(acknowledged, s.commit(fmt.Sprintf("feature-flags/f%d.json", i%7), document(i%7, i)).Head.Commit)
	}
	close(stop)
	running.Wait()
	must.Get(s.objects.Compact(ctx))(t)
	fsck(t, s.dir)
	wantTree(t, s.dir, s.objects)
	reader := must.Get(disk.Open(s.dir))(t).Reader(ctx)
	defer reader.Close()
	for _, commit := range acknowledged {
		if _, _, err := reader.Read(object.ParseID(commit)); err != nil {
			t.Fatalf("a commit of %d: %v", len(acknowledged), err)
		}
	}
	if n := strings.TrimSpace(git(t, s.dir, "rev-list", "--count", "main")); n != fmt.Sprint(len(acknowledged)+1) {
		t.Errorf("git counts %s commits, want %d", n, len(acknowledged)+1)
	}
}

// filled is a store with documents, imported as one commit.
func filled(b *testing.B, documents int) (*store, *repository.Snapshot) {
	b.Helper()
	s := &store{dir: b.TempDir(), ledger: repositorytest.NewMemory()}
	s.objects = must.Get(disk.Init(s.dir))(b)
	s.repo = repository.New(s.ledger, s.objects)
	imported := draft("svc.json", "{}\n")
	for i := range documents {
		path := fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i)
		imported.Changes = append(imported.Changes, repository.Change{Path: path, Content: []byte(document(i, 0)[:1500])})
	}
	base := must.Get(s.repo.Snapshot(ctx, repository.Head{}))(b)
	landed := must.Get(s.repo.Commit(ctx, base, imported))(b)
	return s, landed
}

var sizes = []int{100, 1000, 10_000}

func BenchmarkCommit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n, " documents"), func(b *testing.B) {
			s, at := filled(b, n)
			i := 0
			for b.Loop() {
				i++
				path := fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i%n)
				next := must.Get(s.repo.Commit(ctx, at, draft(path, document(i, i)[:1500])))(b)
				if at = next; i%100 == 0 {
					must.Get(s.objects.Compact(ctx))(b)
				}
			}
		})
	}
}

func BenchmarkColdRead(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n, " documents"), func(b *testing.B) {
			s, at := filled(b, n)
			for b.Loop() {
				must.Get(repository.New(s.ledger, s.objects).Snapshot(ctx, at.Head))(b)
			}
		})
	}
}

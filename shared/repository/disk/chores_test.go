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

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
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

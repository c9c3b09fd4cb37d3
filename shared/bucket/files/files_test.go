package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/bucket/files"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// TestNothingIsSeenBeforeClose by another instance.
func TestNothingIsSeenBeforeClose(t *testing.T) {
	here, b := open(t)
	there := files.New(ctx, b, "some/prefix")
	file, err := here.Create("a")
	must(t, err)
	_, err = file.Write([]byte("text"))
	must(t, err)
	if _, err := there.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("it is seen before it is closed: %v", err)
	}
	must(t, file.(interface{ Sync() error }).Sync())
	wantText(t, there, "a", "text")
	_, err = file.Write([]byte(" more"))
	must(t, err)
	must(t, file.Close())
	wantText(t, there, "a", "text more")
}

// TestOneCreates: O_EXCL among several instances.
func TestOneCreates(t *testing.T) {
	_, b := open(t)
	var winners atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			f := files.New(ctx, b, "")
			file, err := f.OpenFile("lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err == nil {
				winners.Add(1)
				err = file.Close()
			}
			if err != nil && !os.IsExist(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if winners.Load() != 1 {
		t.Errorf("%d have created one file", winners.Load())
	}
}

// TestNoLostChange: of two who change a file one is told so.
func TestNoLostChange(t *testing.T) {
	f, b := open(t)
	put(t, f, "a", "0")
	for _, name := range []string{"a", "new"} {
		var files2 [2]billy.File
		for i := range files2 {
			var err error
			files2[i], err = files.New(ctx, b, "some/prefix").OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
			must(t, err)
			_, err = fmt.Fprint(files2[i], "writer ", i)
			must(t, err)
		}
		must(t, files2[1].Close())
		if err := files2[0].Close(); !errors.Is(err, bucket.ErrChanged) {
			t.Errorf("%s: the second one is told %v", name, err)
		}
		wantText(t, f, name, "writer 1")
	}
}

func TestReplacedWhileRead(t *testing.T) {
	f, _ := open(t)
	put(t, f, "a", strings.Repeat("old", 1<<20))
	file, err := f.Open("a")
	must(t, err)
	put(t, f, "a", strings.Repeat("new", 1<<20))
	if got, err := io.ReadAll(file); !errors.Is(err, bucket.ErrChanged) || strings.Contains(string(got), "new") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestRemovedWhileWritten(t *testing.T) {
	f, _ := open(t)
	file, err := f.Create("a")
	must(t, err)
	must(t, f.Remove("a"))
	must(t, file.Close())
	if _, err := f.Stat("a"); !os.IsNotExist(err) {
		t.Errorf("a removed file came back: %v", err)
	}
}

func TestRenamedWhileWritten(t *testing.T) {
	f, b := open(t)
	file, err := f.TempFile("", "tmp")
	must(t, err)
	_, err = file.Write([]byte("one"))
	must(t, err)
	must(t, f.Rename(file.Name(), "a"))
	wantText(t, files.New(ctx, b, "some/prefix"), "a", "one")
	_, err = file.Write([]byte(" two"))
	must(t, err)
	must(t, file.Close())
	wantText(t, f, "a", "one two")
	if got := names(t, f, ""); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
}

func TestWhatIsNotSupported(t *testing.T) {
	f, _ := open(t)
	put(t, f, "dir/a", "")
	if err := f.Rename("dir", "other"); !errors.Is(err, billy.ErrNotSupported) {
		t.Errorf("renaming a folder: %v", err)
	}
	if err := f.Symlink("a", "b"); !errors.Is(err, billy.ErrNotSupported) {
		t.Errorf("a link: %v", err)
	}
	if err := f.MkdirAll("dir/a/b", 0o755); err == nil {
		t.Error("a folder was made below a file")
	}
	for _, name := range []string{"../x", "dir/../../x", ".."} {
		if _, err := f.Create(name); !errors.Is(err, billy.ErrCrossedBoundary) {
			t.Errorf("creating %s: %v", name, err)
		}
	}
	if _, err := f.Create("."); err == nil {
		t.Error("the root was created")
	}
	if billy.CapabilityCheck(f, billy.LockCapability) {
		t.Error("it says that it can lock")
	}
}

func TestCancelled(t *testing.T) {
	f, _ := open(t)
	put(t, f, "a", "text")
	cancelled, cancel := context.WithCancel(ctx)
	g := f.In(cancelled)
	file, err := g.Create("b")
	must(t, err)
	cancel()
	if err := file.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("closing: %v", err)
	}
	_, openErr := g.Open("a")
	_, readErr := g.ReadDir("")
	_, statErr := g.Stat("a")
	for what, err := range map[string]error{"open": openErr, "readdir": readErr, "stat": statErr, "remove": g.Remove("a"), "rename": g.Rename("a", "c")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantText(t, f, "a", "text")
}

// TestFaults runs part of the contract while requests fail.
func TestFaults(t *testing.T) {
	rates := faultproxy.Everything(0.02)
	proxy, err := faultproxy.Start(standin.S3(t), faultproxy.Plan{Seed: 11, Rates: rates, Slow: 2 * time.Millisecond})
	must(t, err)
	defer proxy.Close()
	settings, err := standin.Config(ctx, proxy.URL())
	must(t, err)
	b := bucket.New(s3.NewFromConfig(settings, standin.PathStyle), standin.Bucket(t, standin.S3Client(t)))
	for round := range 5 {
		root := fmt.Sprint("round ", round)
		for _, test := range []func(*testing.T, billy.Filesystem){testWriteRead, testFlags, testExclusive, testAppend, testSeek, testReadDir, testMkdir} {
			root += "x"
			test(t, files.New(ctx, b, root))
		}
	}
	t.Log(proxy.Counts())
}

// store puts an object into go-git's storage.
func store(t *testing.T, s *filesystem.Storage, kind plumbing.ObjectType, content []byte) string {
	t.Helper()
	o := s.NewEncodedObject()
	o.SetType(kind)
	w, err := o.Writer()
	must(t, err)
	_, err = w.Write(content)
	must(t, err)
	must(t, w.Close())
	id, err := s.SetEncodedObject(o)
	must(t, err)
	return id.String()
}

// commit makes a commit as go-git's own Worktree does: loose objects, then the
// reference.
func commit(t *testing.T, s *filesystem.Storage, parent, text string) string {
	t.Helper()
	blob := store(t, s, plumbing.BlobObject, []byte(text))
	tree, err := object.EncodeTree([]object.TreeEntry{{Mode: object.ModeFile, Name: "svc.json", ID: blob}})
	must(t, err)
	by := object.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	c := object.Commit{Tree: store(t, s, plumbing.TreeObject, tree), Author: by, Committer: by, Message: text}
	if parent != "" {
		c.Parents = []string{parent}
	}
	id := store(t, s, plumbing.CommitObject, object.EncodeCommit(c))
	must(t, s.SetReference(plumbing.NewHashReference("refs/heads/main", plumbing.NewHash(id))))
	return id
}

// content reads an object through go-git's storage.
func content(t *testing.T, s *filesystem.Storage, id string) string {
	t.Helper()
	o, err := s.EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
	must(t, err)
	r, err := o.Reader()
	must(t, err)
	defer r.Close()
	text, err := io.ReadAll(r)
	must(t, err)
	return string(text)
}

// TestGoGit makes and reads a repository with go-git's stock storage, once
// loose and once packed, and lets real git look at a copy.
func TestGoGit(t *testing.T) {
	f, b := open(t)
	stock := func() *filesystem.Storage {
		return filesystem.NewStorage(files.New(ctx, b, "some/prefix"), cache.NewObjectLRUDefault())
	}
	s := filesystem.NewStorage(f, cache.NewObjectLRUDefault())
	must(t, s.Init())
	settings := config.NewConfig()
	settings.Core.IsBare = true
	must(t, s.SetConfig(settings))
	must(t, s.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, "refs/heads/main")))
	var commits []string
	for i := range 5 {
		parent := ""
		if i > 0 {
			parent = commits[i-1]
		}
		commits = append(commits, commit(t, s, parent, fmt.Sprintln("commit", i)))
	}
	check := func() {
		t.Helper()
		again := stock()
		head, err := storer.ResolveReference(again, plumbing.HEAD)
		must(t, err)
		id := head.Hash().String()
		for i := range commits {
			if want := commits[len(commits)-1-i]; id != want {
				t.Errorf("the history has %s, want %s", id, want)
			}
			c, err := object.DecodeCommit([]byte(content(t, again, id)))
			must(t, err)
			if id = ""; len(c.Parents) > 0 {
				id = c.Parents[0]
			}
		}
		fsck(t, b)
	}
	check()
	repack(t, s)
	check()
	if _, err := stock().EncodedObject(plumbing.AnyObject, plumbing.NewHash(strings.Repeat("1", 40))); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("an object that is not there: %v", err)
	}
}

// repack puts all loose objects into a pack, and all references into one file,
// by way of go-git.
func repack(t *testing.T, s *filesystem.Storage) {
	t.Helper()
	var all []pack.Object
	var ids []plumbing.Hash
	found, err := s.IterEncodedObjects(plumbing.AnyObject)
	must(t, err)
	must(t, found.ForEach(func(o plumbing.EncodedObject) error {
		ids = append(ids, o.Hash())
		text := []byte(content(t, s, o.Hash().String()))
		all = append(all, pack.Object{ID: o.Hash().String(), Kind: object.Kind(o.Type().String()), Content: text})
		return nil
	}))
	p, err := pack.Encode(all)
	must(t, err)
	w, err := s.PackfileWriter()
	must(t, err)
	_, err = w.Write(p.Bytes)
	must(t, err)
	must(t, w.Close())
	for _, id := range ids {
		must(t, s.DeleteLooseObject(id))
	}
	must(t, s.PackRefs())
	if len(ids) != 15 {
		t.Errorf("there were %d objects", len(ids))
	}
}

// fsck lets real git look at a copy.
func fsck(t *testing.T, b *bucket.Bucket) {
	t.Helper()
	dir := t.TempDir()
	for entry, err := range b.List(ctx, "some/prefix/") {
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(entry.Key, "some/prefix/")))
		if strings.HasSuffix(entry.Key, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		text, _, err := b.Get(ctx, entry.Key)
		must(t, err)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, text, 0o600))
	}
	cmd := exec.Command(testenv.Program(t, "apt-get install git", "git"), "fsck", "--strict", "--full")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "dangling") {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
}

// TestGoGitSwapsAReference: go-git's stock storage lets one of several win
// here, since what it changes is written back only if it is unchanged.
func TestGoGitSwapsAReference(t *testing.T) {
	_, b := open(t)
	name := plumbing.NewBranchReferenceName("main")
	at := func(n int) *plumbing.Reference {
		return plumbing.NewHashReference(name, plumbing.NewHash(fmt.Sprintf("%040x", n)))
	}
	storage := func() *filesystem.Storage {
		return filesystem.NewStorage(files.New(ctx, b, "repo"), cache.NewObjectLRUDefault())
	}
	must(t, storage().SetReference(at(1)))
	for round := range 10 {
		old, err := storage().Reference(name)
		must(t, err)
		var winners atomic.Int64
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				if err := storage().CheckAndSetReference(at(100+round*10+w), old); err == nil {
					winners.Add(1)
				}
			})
		}
		all.Wait()
		if winners.Load() != 1 {
			t.Errorf("round %d: %d have won", round, winners.Load())
		}
	}
}

package repository_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/workspace"
)

var ctx = context.Background()

// store is a repository over a ledger in memory and objects on disk, whose
// calls are counted and can be held up.
type store struct {
	t       testing.TB
	ledger  *ledger
	objects *objects
	repo    *repository.Repository
	now     time.Time
}

func newStore(t testing.TB, dir string) *store {
	t.Helper()
	o := must.Get(disk.Init(dir))(t)
	s := &store{t: t, ledger: &ledger{Memory: repositorytest.NewMemory()}, objects: &objects{Objects: o}}
	s.now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s.repo = repository.New(s.ledger, s.objects)
	return s
}

type ledger struct {
	*repositorytest.Memory
	since, lastTouches atomic.Int64
	// before is called at the beginning of Since and LastTouches.
	before func(context.Context) error
}

func (l *ledger) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	l.since.Add(1)
	if l.before != nil {
		if err := l.before(ctx); err != nil {
			return nil, err
		}
	}
	return l.Memory.Since(ctx, head, after)
}

func (l *ledger) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	l.lastTouches.Add(1)
	if l.before != nil {
		if err := l.before(ctx); err != nil {
			return nil, err
		}
	}
	return l.Memory.LastTouches(ctx, head)
}

type objects struct {
	repository.Objects
	trees, blobs atomic.Int64
}

func (o *objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	o.trees.Add(1)
	return o.Objects.Tree(ctx, head)
}

func (o *objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	o.blobs.Add(1)
	return o.Objects.Blob(ctx, touch)
}

func (s *store) head() repository.Head {
	s.t.Helper()
	return must.Get(s.ledger.Head(ctx))(s.t)
}

func (s *store) snapshot(repo *repository.Repository) *repository.Snapshot {
	s.t.Helper()
	return must.Get(repo.Snapshot(ctx, s.head()))(s.t)
}

func (s *store) draft(changes ...repository.Change) repository.Draft {
	s.now = s.now.Add(time.Second)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: s.now}
	return repository.Draft{Changes: changes, Author: by, Committer: by, Message: fmt.Sprint(s.now.Unix())}
}

func (s *store) commit(changes ...repository.Change) *repository.Snapshot {
	s.t.Helper()
	return must.Get(s.repo.Commit(ctx, s.snapshot(s.repo), s.draft(changes...)))(s.t)
}

var put, texts = repositorytest.Put, repositorytest.Texts

// TestForced turns history back and replaces it, as git push -f does.
func TestForced(t *testing.T) {
	s := newStore(t, t.TempDir())
	other := repository.New(s.ledger, s.objects)
	one := s.commit(put("configs/a.json", "1"))
	two := s.commit(put("configs/a.json", "2"))
	three := s.commit(put("configs/a.json", "3"), put("configs/b.json", "3"))
	s.snapshot(other)

	s.ledger.Force(one.Head.Commit)
	for _, repo := range []*repository.Repository{s.repo, other} {
		if got := texts(s.snapshot(repo)); !maps.Equal(got, map[string]string{"configs/a.json": "1"}) {
			t.Errorf("turned back, the files are %v", got)
		}
	}
	if _, err := s.repo.Commit(ctx, three, s.draft(put("configs/a.json", "4"))); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("a write on a commit that is gone: %v", err)
	}
	// On the commit that was built on before, another can land now.
	if again := s.commit(put("configs/c.json", "5")); again.Head.Sequence != two.Head.Sequence || again.Head.Commit == two.Head.Commit {
		t.Errorf("the new second commit is %+v", again.Head)
	}
	newer := s.commit(put("configs/d.json", "6"))
	s.commit(put("configs/d.json", "7"))
	want := map[string]string{"configs/a.json": "1", "configs/c.json": "5", "configs/d.json": "7"}
	for _, repo := range []*repository.Repository{s.repo, other, repository.New(s.ledger, s.objects)} {
		if got := texts(s.snapshot(repo)); !maps.Equal(got, want) {
			t.Errorf("replaced, the files are %v, want %v", got, want)
		}
	}
	// A slow reader with an earlier head still gets that one.
	trees := s.objects.trees.Load()
	if got, err := s.repo.Snapshot(ctx, newer.Head); err != nil || string(texts(got)["configs/d.json"]) != "6" {
		t.Errorf("an earlier head is %v, %v", got, err)
	}
	if s.objects.trees.Load() != trees {
		t.Error("an earlier head was read from scratch")
	}
}

// TestOneReads: of many who wait for one new head, one reads, and one whose
// request ends does not take the others along.
func TestOneReads(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.commit(put("configs/a.json", "1"))
	repo := repository.New(s.ledger, s.objects)
	s.snapshot(repo)
	s.commit(put("configs/a.json", "2"))
	head := s.head()

	arrived, release := make(chan struct{}, 100), make(chan struct{})
	s.ledger.before = func(ctx context.Context) error {
		arrived <- struct{}{}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	leading, leave := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := repo.Snapshot(leading, head); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who left got %v", err)
		}
	})
	<-arrived
	for range 20 {
		waiting.Go(func() {
			if got, err := repo.Snapshot(ctx, head); err != nil || texts(got)["configs/a.json"] != "2" {
				t.Errorf("one who waited got %v, %v", got, err)
			}
		})
	}
	impatient, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := repo.Snapshot(impatient, head); !errors.Is(err, context.Canceled) {
		t.Errorf("one who did not wait got %v", err)
	}
	leave()
	<-arrived
	close(release)
	waiting.Wait()
	if n := s.ledger.since.Load(); n != 2 {
		t.Errorf("%d read what two had to", n)
	}
}

// TestManyChanges follows a commit of more files than are read one by one.
func TestManyChanges(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.commit(put("configs/a.json", "1"))
	repo := repository.New(s.ledger, s.objects)
	s.snapshot(repo)
	var changes []repository.Change
	for i := range 300 {
		changes = append(changes, put(fmt.Sprintf("feature-flags/f-%d.json", i), fmt.Sprint(i)))
	}
	landed := s.commit(changes...)
	s.objects.trees.Store(0)
	s.objects.blobs.Store(0)
	got := s.snapshot(repo)
	if trees, blobs := s.objects.trees.Load(), s.objects.blobs.Load(); trees != 1 || blobs != 0 {
		t.Errorf("300 files took %d trees and %d blobs", trees, blobs)
	}
	if !maps.Equal(texts(got), texts(landed)) || len(got.Files) != 301 {
		t.Errorf("%d files are seen, want 301", len(got.Files))
	}
}

// TestFarBehind: beyond some distance everything is read again.
func TestFarBehind(t *testing.T) {
	s := newStore(t, t.TempDir())
	first := s.commit(put("configs/a.json", "1"))
	repo := repository.New(s.ledger, s.objects)
	s.snapshot(repo)
	tree := first.Files[0]
	var rows []repository.Commit
	parent := first.Head.Commit
	for i := range 1100 { // rows alone: nobody should look at their objects
		sha := fmt.Sprintf("%040x", i+1)
		rows = append(rows, repository.Commit{SHA: sha, Sequence: int64(i) + 2, Parent: parent, Author: tree.Last.Author})
		parent = sha
	}
	s.ledger.Force(rows[len(rows)-1].SHA, rows...)
	if _, err := repo.Snapshot(ctx, s.head()); !errors.Is(err, odb.ErrNoObject) {
		t.Errorf("reading 1,100 commits later: %v", err)
	}
	if n := s.ledger.since.Load(); n != 0 {
		t.Errorf("%d times the rows of 1,100 commits were read", n)
	}
}

func TestStorageFails(t *testing.T) {
	s := newStore(t, t.TempDir())
	s.commit(put("configs/a.json", "1"))
	broken := errors.New("the ledger is broken")
	s.ledger.before = func(context.Context) error { return broken }
	repo := repository.New(s.ledger, s.objects)
	if _, err := repo.Snapshot(ctx, s.head()); !errors.Is(err, broken) {
		t.Errorf("a cold read: %v", err)
	}
	s.ledger.before = nil
	s.snapshot(repo)
	s.commit(put("configs/a.json", "2"))
	s.ledger.before = func(context.Context) error { return broken }
	if _, err := repo.Snapshot(ctx, s.head()); !errors.Is(err, broken) {
		t.Errorf("a read that follows: %v", err)
	}
	s.ledger.before = nil
	if got := texts(s.snapshot(repo)); got["configs/a.json"] != "2" {
		t.Errorf("after the failure the files are %v", got)
	}
}

// lossy are objects of which one is lost at times.
type lossy struct {
	repository.Objects
	path, blob string
	lost       atomic.Bool
	asked      atomic.Int64
}

func (l *lossy) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	tree, err := l.Objects.Tree(ctx, head)
	if _, there := tree.Files[l.path]; there && l.lost.Load() {
		delete(tree.Files, l.path)
		tree.Unread[l.path] = &workspace.Unread{Why: "it is gone", Lost: true}
	}
	return tree, err
}

func (l *lossy) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if l.asked.Add(1); touch.Blob == l.blob && l.lost.Load() {
		return nil, &object.Lost{ID: object.ParseID(touch.Blob)}
	}
	return l.Objects.Blob(ctx, touch)
}

// TestWhatWasLostIsBack: a file whose text was lost when it was read, and is there
// again, is read in the same head, in a later one, and in an earlier commit.
func TestWhatWasLostIsBack(t *testing.T) {
	for _, later := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, dir)
			s.commit(put("configs/a.json", "a"), put("configs/b.json", "b"))
			first := s.head()
			file, _ := s.snapshot(s.repo).File("configs/a.json")
			objects := &lossy{Objects: s.objects, path: "configs/a.json", blob: file.Blob}
			objects.lost.Store(true)
			repo := repository.New(s.ledger, objects)
			before := s.snapshot(repo)
			if f, _ := before.File("configs/a.json"); f.Err == nil || len(before.Lost()) != 1 {
				t.Fatalf("%q, %v", f.Text, before.Lost())
			}
			for range 3 {
				s.snapshot(repo)
			}
			if n := objects.asked.Load(); n != 0 {
				t.Errorf("it was looked for %d times at once", n)
			}
			time.Sleep(2 * time.Second)
			for range 3 {
				s.snapshot(repo)
			}
			if n := objects.asked.Load(); n != 1 {
				t.Errorf("it was looked for %d times after two seconds", n)
			}
			if later {
				s.commit(put("configs/b.json", "c"))
				if f, _ := s.snapshot(repo).File("configs/a.json"); f.Err == nil {
					t.Errorf("%q", f.Text)
				}
			}
			objects.lost.Store(false)
			if _, text, err := repo.At(ctx, s.head(), "configs/a.json", first.Commit); err != nil || string(text) != "a" {
				t.Errorf("at the commit: %q, %v", text, err)
			}
			time.Sleep(2 * time.Second)
			after := s.snapshot(repo)
			if f, _ := after.File("configs/a.json"); string(f.Text) != "a" || len(after.Lost()) != 0 {
				t.Errorf("later %v: %q, %v", later, f.Text, after.Lost())
			}
			n := objects.asked.Load()
			time.Sleep(2 * time.Second)
			if s.snapshot(repo); objects.asked.Load() != n {
				t.Error("it is looked for though it is there")
			}
		})
	}
}

// TestADocumentMayBeAsLargeAsAnObjectThatIsRead, with a byte order mark.
func TestADocumentMayBeAsLargeAsAnObjectThatIsRead(t *testing.T) {
	if object.MaxBlob != document.MaxSize+3 {
		t.Errorf("a document has up to %d bytes, and a blob of up to %d is read", document.MaxSize, object.MaxBlob)
	}
}

// TestAllTextsTogetherAreBounded: one blob of 1 MB under many names is as many MB in
// memory. More than the bound is refused as a whole, since what is left out would look
// deleted.
func TestAllTextsTogetherAreBounded(t *testing.T) {
	large := gitobjects.Blob(`"` + strings.Repeat(" ", 1<<20-2) + `"`)
	for files, want := range map[int]bool{140: true, 64: false} {
		var configs []object.TreeEntry
		for i := range files {
			configs = append(configs, object.TreeEntry{Mode: object.ModeFile, Name: fmt.Sprintf("c%03d.json", i), ID: large.ID})
		}
		folder := gitobjects.Tree(t, configs...)
		root := gitobjects.Tree(t, object.TreeEntry{Mode: object.ModeFolder, Name: "configs", ID: folder.ID})
		commit := gitobjects.Commit(root)
		read := func(id object.ID) (object.Kind, []byte, error) {
			for _, o := range []pack.Object{large, folder, root, commit} {
				if o.ID == id {
					return o.Kind, o.Content, nil
				}
			}
			return "", nil, errors.New("no such object")
		}
		if _, err := repository.ReadTree(ctx, repository.Head{Commit: commit.ID.String()}, read, nil, 0); errors.As(err, new(*repository.TooLarge)) != want || !want && err != nil {
			t.Errorf("%d MB: %v", files, err)
		}
	}
}

// mute is a ledger that never says how a commit ended.
type mute struct{ repository.Ledger }

func (mute) Advance(context.Context, repository.Head, repository.Commit) (repository.Head, error) {
	return repository.Head{}, errors.New("the answer was lost")
}

type releases struct {
	repository.Objects
	count atomic.Int64
}

func (r *releases) Release(name string) {
	r.count.Add(1)
	r.Objects.Release(name)
}

// TestAPackOfUnknownOutcomeIsReleased: not at once, since its commit may be landing
// still.
func TestAPackOfUnknownOutcomeIsReleased(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, dir)
		objects := &releases{Objects: s.objects}
		repo := repository.New(mute{s.ledger}, objects)
		if _, err := repo.Commit(ctx, s.snapshot(repo), s.draft(put("configs/a.json", "a"))); !errors.Is(err, repository.ErrUnknownOutcome) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := objects.count.Load(); n != 0 {
			t.Errorf("released %d times within a minute", n)
		}
		time.Sleep(2 * time.Hour)
		if n := objects.count.Load(); n != 1 {
			t.Errorf("released %d times", n)
		}
	})
}

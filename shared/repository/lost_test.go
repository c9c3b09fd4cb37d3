package repository_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

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

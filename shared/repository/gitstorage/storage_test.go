package gitstorage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-billy/v5/util"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/gitstorage"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
)

const commits = 30

// written is a history of commits and what the last one holds.
type written struct {
	objects *odb.Objects
	ledger  *repositorytest.Memory
	files   map[string]string
}

func write(t *testing.T, into repository.Objects, objects *odb.Objects) written {
	t.Helper()
	w := written{objects, repositorytest.NewMemory(), map[string]string{}}
	repo := repository.New(w.ledger, into)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Unix(1_700_000_000, 0)}
	at, err := repo.Snapshot(t.Context(), repository.Head{})
	for i := range commits {
		if err != nil {
			t.Fatal(err)
		}
		path, text := fmt.Sprintf("feature-flags/flag-%d.json", i%7), fmt.Sprintf("{\"n\": %d}\n", i)
		w.files[path] = text
		at, err = repo.Commit(t.Context(), at, repository.Draft{Changes: []repository.Change{{Path: path, Content: []byte(text)}}, Author: by, Committer: by, Message: "change " + path})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w written) head() (string, error) {
	head, err := w.ledger.Head(context.Background())
	return head.Commit, err
}

// open opens the repository with go-git.
func (w written) open(t *testing.T) (*git.Repository, *gitstorage.Storage) {
	t.Helper()
	s := gitstorage.New(t.Context(), w.objects, w.head)
	t.Cleanup(s.Close)
	r, err := git.Open(s, memfs.New())
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

func stores(t *testing.T) map[string]written {
	d, err := disk.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	client := standin.S3Client(t)
	o := s3.New(bucket.New(client, standin.Bucket(t, client)), "workspace", nil)
	return map[string]written{"disk": write(t, d, d.Objects), "s3": write(t, o, o.Objects)}
}

// walk reads everything that the head reaches.
func walk(r *git.Repository) (seen int, files map[string]string, err error) {
	history, err := r.Log(&git.LogOptions{})
	if err != nil {
		return 0, nil, err
	}
	err = history.ForEach(func(c *gitobject.Commit) error {
		seen++
		tree, err := c.Tree()
		if err != nil || seen > 1 {
			return err
		}
		files = map[string]string{}
		return tree.Files().ForEach(func(f *gitobject.File) error {
			text, err := f.Contents()
			files[f.Name] = text
			return err
		})
	})
	return seen, files, err
}

// TestGoGitReads what was written, also by several at once.
func TestGoGitReads(t *testing.T) {
	for name, w := range stores(t) {
		t.Run(name, func(t *testing.T) {
			r, _ := w.open(t)
			var readers sync.WaitGroup
			for range 8 {
				readers.Go(func() {
					if seen, files, err := walk(r); err != nil || seen != commits || !maps.Equal(files, w.files) {
						t.Errorf("%d commits, %v, %v, want %v", seen, files, err, w.files)
					}
				})
			}
			readers.Wait()
			head, err := r.Head()
			if err != nil {
				t.Fatal(err)
			}
			c, err := r.CommitObject(head.Hash())
			if err != nil {
				t.Fatal(err)
			}
			parent, err := c.Parent(0)
			if err != nil {
				t.Fatal(err)
			}
			patch, err := parent.Patch(c)
			if err != nil || len(patch.FilePatches()) != 1 {
				t.Errorf("the last commit's difference is %v, %v", patch, err)
			}
			all, err := r.CommitObjects()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := all.ForEach(func(*gitobject.Commit) error { n++; return nil }); err != nil || n != commits {
				t.Errorf("%d commits are stored, %v", n, err)
			}
		})
	}
}

// TestGoGitChecksOut the files of the head.
func TestGoGitChecksOut(t *testing.T) {
	for name, w := range stores(t) {
		t.Run(name, func(t *testing.T) {
			r, _ := w.open(t)
			tree, err := r.Worktree()
			if err != nil {
				t.Fatal(err)
			}
			if err := tree.Checkout(&git.CheckoutOptions{Branch: "refs/heads/main", Force: true}); err != nil {
				t.Fatal(err)
			}
			for path, want := range w.files {
				if got, err := util.ReadFile(tree.Filesystem, path); err != nil || string(got) != want {
					t.Errorf("%s is %q, %v, want %q", path, got, err, want)
				}
			}
			if status, err := tree.Status(); err != nil || !status.IsClean() {
				t.Errorf("%v, %v", status, err)
			}
		})
	}
}

// TestGoGitWritesNothing: neither objects nor references.
func TestGoGitWritesNothing(t *testing.T) {
	d, err := disk.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := write(t, d, d.Objects)
	r, s := w.open(t)
	tree, err := r.Worktree()
	if err == nil {
		_, err = tree.Commit("by another way", &git.CommitOptions{Author: &gitobject.Signature{Name: "Eve"}, AllowEmptyCommits: true})
	}
	if !errors.Is(err, gitstorage.ErrReadOnly) {
		t.Errorf("a commit: %v", err)
	}
	for _, name := range []plumbing.ReferenceName{"refs/heads/main", "refs/heads/other", plumbing.HEAD} {
		if err := s.SetReference(plumbing.NewHashReference(name, plumbing.NewHash("1234"))); !errors.Is(err, gitstorage.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEmpty: a repository without a commit opens, and has no head.
func TestEmpty(t *testing.T) {
	d, err := disk.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := gitstorage.New(t.Context(), d.Objects, gitstorage.At(""))
	defer s.Close()
	r, err := git.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Head(); !errors.Is(err, plumbing.ErrReferenceNotFound) {
		t.Errorf("its head: %v", err)
	}
	if _, err := r.CommitObject(plumbing.NewHash("1234")); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Errorf("a commit that is not there: %v", err)
	}
	all, err := s.IterEncodedObjects(plumbing.AnyObject)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("its objects: %v", err)
	}
}

// TestItEndsWithTheContext, whatever is asked of it.
func TestItEndsWithTheContext(t *testing.T) {
	objects, err := disk.Init(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := gitstorage.New(ctx, objects.Objects, gitstorage.At(""))
	defer s.Close()
	if _, err := s.IterEncodedObjects(plumbing.AnyObject); err != nil {
		t.Error(err)
	}
	cancel()
	if _, err := s.IterEncodedObjects(plumbing.AnyObject); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

package control_test

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/repository"
)

// fakeRepository is a repository in memory: commits as values, and a head that
// moves only from where the writer saw it.
type fakeRepository struct {
	mu       sync.Mutex
	commits  []fakeCommit
	sequence int64 // of the newest commit ever
	access   int64

	// calls counts requests by method.
	calls map[string]int
	// before runs ahead of every Commit, without the lock: what another
	// writer does in between.
	before func()
	// asked are the ids of the requests that asked for commits, try by try.
	asked []string
	// once is what the last try of a commit was to be remembered as.
	once *repository.Once
	// fail, when set, is what a method answers.
	fail map[string]error
}

type fakeCommit struct {
	repository.Commit
	files map[string]repository.File
}

func newFakeRepository() *fakeRepository {
	return &fakeRepository{calls: map[string]int{}, fail: map[string]error{}}
}

func (r *fakeRepository) called(method string) error {
	r.calls[method]++
	return r.fail[method]
}

func (r *fakeRepository) count(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

func (r *fakeRepository) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, calls := range r.calls {
		n += calls
	}
	return n
}

func (r *fakeRepository) head() repository.Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headLocked()
}

func (r *fakeRepository) headLocked() repository.Head {
	head := repository.Head{Access: r.access}
	if n := len(r.commits); n > 0 {
		head.Commit, head.Sequence = r.commits[n-1].SHA, r.commits[n-1].Sequence
	}
	return head
}

// push makes a commit as `git push` does: whoever, whatever the message.
func (r *fakeRepository) push(by repository.Signature, message string, files map[string]string) repository.Commit {
	draft := repository.Draft{Author: by, Committer: by, Message: message}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		change := repository.Change{Path: path}
		if files[path] != "" {
			change.Content = []byte(files[path])
		}
		draft.Changes = append(draft.Changes, change)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.add(draft)
}

// forcePush puts a commit in the place of the last one.
func (r *fakeRepository) forcePush(path, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits = r.commits[:len(r.commits)-1]
	r.add(repository.Draft{Author: ada, Committer: ada, Message: "forced", Changes: []repository.Change{{Path: path, Content: []byte(text)}}})
}

func (r *fakeRepository) add(draft repository.Draft) repository.Commit {
	c := fakeCommit{files: map[string]repository.File{}}
	if n := len(r.commits); n > 0 {
		c.files = maps.Clone(r.commits[n-1].files)
		c.Parent = r.commits[n-1].SHA
	}
	r.sequence++
	c.Sequence = r.sequence
	c.Author, c.Committer, c.Message = draft.Author, draft.Committer, draft.Message
	var last repository.Commit
	for _, change := range draft.Changes {
		_, known := c.files[change.Path]
		touch := repository.Touch{Path: change.Path, Created: !known}
		if change.Content == nil {
			touch.Created = false
			delete(c.files, change.Path)
		} else {
			touch.Blob = sum(fmt.Sprintf("blob %d\x00%s", len(change.Content), change.Content))
			c.files[change.Path] = repository.File{Path: change.Path, Blob: touch.Blob, Text: change.Content, Last: &last}
		}
		c.Touched = append(c.Touched, touch)
	}
	draft.Changes = nil // which are large, and named by their blobs
	c.SHA = sum(fmt.Sprint(c.Parent, c.Sequence, draft, c.Touched))
	last = c.Commit
	last.Touched = nil
	r.commits = append(r.commits, c)
	return c.Commit
}

func sum(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

func (r *fakeRepository) at(head repository.Head) *fakeCommit {
	for i := range r.commits {
		if r.commits[i].SHA == head.Commit {
			return &r.commits[i]
		}
	}
	return nil
}

func (r *fakeRepository) Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("Snapshot"); err != nil {
		return nil, err
	}
	return r.snapshot(head)
}

func (r *fakeRepository) snapshot(head repository.Head) (*repository.Snapshot, error) {
	s := &repository.Snapshot{Head: head}
	if head.Commit == "" {
		return s, nil
	}
	c := r.at(head)
	if c == nil {
		return nil, repository.ErrUnknownCommit
	}
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		s.Files = append(s.Files, c.files[path])
	}
	return s, nil
}

func (r *fakeRepository) Commit(_ context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	if len(draft.Changes) == 0 {
		return base, nil
	}
	if r.before != nil {
		r.before()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.once = append(r.asked, draft.RequestID), draft.Once
	if err := r.called("Commit"); err != nil {
		return nil, err
	}
	if r.headLocked() != base.Head {
		return nil, repository.ErrMoved
	}
	r.add(draft)
	return r.snapshot(r.headLocked())
}

func (r *fakeRepository) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("History"); err != nil {
		return nil, err
	}
	if head.Commit != "" && r.at(head) == nil {
		return nil, repository.ErrMoved
	}
	var found []repository.Commit
	for i := len(r.commits) - 1; i >= 0; i-- {
		c := r.commits[i].Commit
		if c.Sequence > head.Sequence || page.Before > 0 && c.Sequence >= page.Before {
			continue
		}
		if page.Path != "" {
			c.Touched = slices.DeleteFunc(slices.Clone(c.Touched), func(t repository.Touch) bool { return t.Path != page.Path })
			if len(c.Touched) == 0 {
				continue
			}
		}
		if found = append(found, c); len(found) == page.Limit {
			break
		}
	}
	return found, nil
}

func (r *fakeRepository) At(ctx context.Context, head repository.Head, path, revision string) (string, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("At"); err != nil {
		return "", nil, err
	}
	found, err := r.find(head, revision)
	if err != nil {
		return "", nil, err
	}
	file, known := found.files[path]
	if !known {
		return found.SHA, nil, repository.ErrAbsent
	}
	return found.SHA, file.Text, nil
}

func (r *fakeRepository) Past(ctx context.Context, head repository.Head, revision string) (*repository.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("Past"); err != nil {
		return nil, err
	}
	found, err := r.find(head, revision)
	if err != nil {
		return nil, err
	}
	return r.snapshot(repository.Head{Commit: found.SHA})
}

func (r *fakeRepository) find(head repository.Head, revision string) (found *fakeCommit, err error) {
	for i := range r.commits {
		if strings.HasPrefix(r.commits[i].SHA, revision) && r.commits[i].Sequence <= head.Sequence {
			if found != nil {
				return nil, repository.ErrAmbiguous
			}
			found = &r.commits[i]
		}
	}
	if found == nil {
		return nil, repository.ErrUnknownCommit
	}
	return found, nil
}

var ada = repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))}

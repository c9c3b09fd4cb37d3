// Package memoryrepository is a repository in memory, for tests: commits as values, and a
// head that moves only from where the writer saw it.
package memoryrepository

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/repository"
)

// Repository is one workspace's.
type Repository struct {
	mu       sync.Mutex
	Commits  []Committed
	sequence int64 // of the newest commit ever
	Access   int64

	// Calls counts requests by method.
	Calls map[string]int
	// Before runs ahead of every Commit, without the lock: what another
	// writer does in between.
	Before func()
	// Drafted is told of each draft, in the same way; it may be nil.
	Drafted func(base *repository.Snapshot, draft repository.Draft)
	// Asked are the ids of the requests that asked for commits, try by try.
	Asked []string
	// Once is what the last try of a commit was to be remembered as.
	Once *repository.Once
	// Fail, when set, is what a method answers.
	Fail map[string]error
}

// Committed is a commit with all files as they are then.
type Committed struct {
	repository.Commit
	Files map[string]repository.File
}

// New is one without commits.
func New() *Repository {
	return &Repository{Calls: map[string]int{}, Fail: map[string]error{}}
}

func (r *Repository) called(method string) error {
	r.Calls[method]++
	return r.Fail[method]
}

// Count is how often a method was called.
func (r *Repository) Count(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Calls[method]
}

// Total is how often any was.
func (r *Repository) Total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, calls := range r.Calls {
		n += calls
	}
	return n
}

// Head is the newest commit.
func (r *Repository) Head() repository.Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headLocked()
}

func (r *Repository) headLocked() repository.Head {
	head := repository.Head{Access: r.Access}
	if n := len(r.Commits); n > 0 {
		head.Commit, head.Sequence = r.Commits[n-1].SHA, r.Commits[n-1].Sequence
	}
	return head
}

// Push makes a commit as `git push` does, by anybody and with any message.
func (r *Repository) Push(by repository.Signature, message string, files map[string]string) repository.Commit {
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

// ForcePush puts a commit in the place of the last one.
func (r *Repository) ForcePush(path, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Commits = r.Commits[:len(r.Commits)-1]
	r.add(repository.Draft{Message: "forced", Changes: []repository.Change{{Path: path, Content: []byte(text)}}})
}

func (r *Repository) add(draft repository.Draft) repository.Commit {
	c := Committed{Files: map[string]repository.File{}}
	if n := len(r.Commits); n > 0 {
		c.Files = maps.Clone(r.Commits[n-1].Files)
		c.Parent = r.Commits[n-1].SHA
	}
	r.sequence++
	c.Sequence = r.sequence
	c.Author, c.Committer, c.Message = draft.Author, draft.Committer, draft.Message
	var last repository.Commit
	for _, change := range draft.Changes {
		_, known := c.Files[change.Path]
		touch := repository.Touch{Path: change.Path, Created: !known}
		if change.Content == nil {
			touch.Created = false
			delete(c.Files, change.Path)
		} else {
			touch.Blob = Sum(fmt.Sprintf("blob %d\x00%s", len(change.Content), change.Content))
			c.Files[change.Path] = repository.File{Path: change.Path, Blob: touch.Blob, Text: change.Content, Last: &last}
		}
		c.Touched = append(c.Touched, touch)
	}
	draft.Changes = nil // which are large, and named by their blobs
	c.SHA = Sum(fmt.Sprint(c.Parent, c.Sequence, draft, c.Touched))
	last = c.Commit
	last.Touched = nil
	r.Commits = append(r.Commits, c)
	return c.Commit
}

// Sum is the SHA-1 of a text.
func Sum(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

func (r *Repository) at(head repository.Head) *Committed {
	for i := range r.Commits {
		if r.Commits[i].SHA == head.Commit {
			return &r.Commits[i]
		}
	}
	return nil
}

// Snapshot implements control.Repository.
func (r *Repository) Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("Snapshot"); err != nil {
		return nil, err
	}
	return r.snapshot(head)
}

func (r *Repository) snapshot(head repository.Head) (*repository.Snapshot, error) {
	s := &repository.Snapshot{Head: head}
	if head.Commit == "" {
		return s, nil
	}
	c := r.at(head)
	if c == nil {
		return nil, repository.ErrUnknownCommit
	}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		s.Files = append(s.Files, c.Files[path])
	}
	return s, nil
}

// Commit implements control.Repository.
func (r *Repository) Commit(_ context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error) {
	if len(draft.Changes) == 0 {
		return base, nil
	}
	if r.Before != nil {
		r.Before()
	}
	if r.Drafted != nil {
		r.Drafted(base, draft)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Asked, r.Once = append(r.Asked, draft.RequestID), draft.Once
	if err := r.called("Commit"); err != nil {
		return nil, err
	}
	if r.headLocked() != base.Head {
		return nil, repository.ErrMoved
	}
	if err := draft.Review(base); err != nil {
		return nil, err
	}
	r.add(draft)
	return r.snapshot(r.headLocked())
}

// History implements control.Repository.
func (r *Repository) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("History"); err != nil {
		return nil, err
	}
	if head.Commit != "" && r.at(head) == nil {
		return nil, repository.ErrMoved
	}
	var found []repository.Commit
	for i := len(r.Commits) - 1; i >= 0; i-- {
		c := r.Commits[i].Commit
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

// At implements control.Repository.
func (r *Repository) At(ctx context.Context, head repository.Head, path, revision string) (string, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.called("At"); err != nil {
		return "", nil, err
	}
	found, err := r.find(head, revision)
	if err != nil {
		return "", nil, err
	}
	file, known := found.Files[path]
	if !known {
		return found.SHA, nil, repository.ErrAbsent
	}
	return found.SHA, file.Text, nil
}

// Past implements control.Repository.
func (r *Repository) Past(ctx context.Context, head repository.Head, revision string) (*repository.Snapshot, error) {
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

func (r *Repository) find(head repository.Head, revision string) (found *Committed, err error) {
	for i := range r.Commits {
		if strings.HasPrefix(r.Commits[i].SHA, revision) && r.Commits[i].Sequence <= head.Sequence {
			if found != nil {
				return nil, repository.ErrAmbiguous
			}
			found = &r.Commits[i]
		}
	}
	if found == nil {
		return nil, repository.ErrUnknownCommit
	}
	return found, nil
}

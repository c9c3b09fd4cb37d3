package worktree

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
)

const (
	// firstSequence is that of the files as they were found; what happens to them
	// comes after.
	firstSequence = 1
	// unknownCommit is what came before the files as they were found.
	unknownCommit = "0000000000000000000000000000000000000000"
	// foundMessage is of the files as they were found, in the form of what the control
	// plane commits: it says itself what is to be said of it.
	foundMessage = "the file as svc serve found it\n\nSvc-Principal: svc/serve\n"
	// maxHistory is how many bytes of content are remembered.
	maxHistory = 32 << 20
)

// history is what was seen to happen to files.
type history struct {
	begun    time.Time
	sequence int64
	changes  []change // the oldest first
	bytes    int
}

// change is what happened to one file at one time. It has an id of its own: a content
// may come back.
type change struct {
	repository.Commit
	path          string
	before, after []byte // nil for no file
}

func (h *history) begin(now time.Time) { h.begun, h.sequence = now, firstSequence }

// add notes what became of a file, and returns what a file's Last is: its content's
// id, and that of the content before.
func (h *history) add(before *repository.Snapshot, path string, text []byte, blob string, seen repository.Commit) *repository.Commit {
	was, existed := before.File(path)
	h.sequence++
	seen.SHA, seen.Sequence, seen.Parent = blob, h.sequence, unknownCommit
	if existed {
		seen.Parent = was.Blob
	}
	c := change{Commit: seen, path: path, after: text}
	var id [20]byte
	_, _ = rand.Read(id[:])
	c.SHA = hex.EncodeToString(id[:])
	c.Touched = []repository.Touch{{Path: path, Blob: blob, Created: !existed}}
	if c.Parent = ""; existed {
		c.Parent, c.before = was.Blob, was.Text
	}
	h.changes = append(h.changes, c)
	for h.bytes += c.size(); h.bytes > maxHistory; h.changes = h.changes[1:] {
		h.bytes -= h.changes[0].size()
	}
	return &seen
}

func (c *change) size() int {
	const rest = 1 << 10
	return len(c.before) + len(c.after) + rest
}

// at is what a file was: at a change that is remembered, or when it had a content of
// that id, or now.
func (h *history) at(now *repository.Snapshot, path, revision string) (sha string, content []byte, err error) {
	found := func(id string, text []byte) {
		switch {
		case id == "" || !strings.HasPrefix(id, revision) || sha == id:
		case sha != "":
			err = repository.ErrAmbiguous
		default:
			sha, content = id, text
		}
	}
	current, exists := now.File(path)
	if found(now.Head.Commit, current.Text); exists {
		found(current.Blob, current.Text)
	}
	for i := range h.changes {
		if c := &h.changes[i]; c.path == path {
			found(c.Touched[0].Blob, c.after)
			if c.before != nil {
				found(c.Parent, c.before)
			}
		}
		if c := &h.changes[i]; strings.HasPrefix(c.SHA, revision) {
			found(c.SHA, h.after(i, path, current.Text))
		}
	}
	switch {
	case err != nil:
		return "", nil, err
	case sha == "":
		return "", nil, repository.ErrUnknownCommit
	case content == nil:
		return sha, nil, repository.ErrAbsent
	}
	return sha, content, nil
}

// after is a file once so many changes had happened, nil for none.
func (h *history) after(n int, path string, now []byte) []byte {
	for i := n; i >= 0; i-- {
		if h.changes[i].path == path {
			return h.changes[i].after
		}
	}
	for i := n + 1; i < len(h.changes); i++ {
		if h.changes[i].path == path {
			return h.changes[i].before
		}
	}
	return now
}

// page is a page of what happened, the newest first. A file's begins with the file as
// it was found.
func (h *history) page(now *repository.Snapshot, page repository.Page) []repository.Commit {
	var all []repository.Commit
	within := func(sequence int64) bool {
		return (page.Before == 0 || sequence < page.Before) && (page.Limit == 0 || len(all) < page.Limit)
	}
	created := false
	file, exists := now.File(page.Path)
	first := file.Blob
	for i := len(h.changes) - 1; i >= 0; i-- {
		c := &h.changes[i]
		if page.Path != "" && c.path != page.Path {
			continue
		}
		created = c.before == nil
		if exists = true; !created {
			first = c.Parent
		}
		if within(c.Sequence) {
			all = append(all, c.Commit)
		}
	}
	if page.Path != "" && exists && !created && within(firstSequence) {
		all = append(all, repository.Commit{SHA: first, Sequence: firstSequence, Parent: unknownCommit, Message: foundMessage,
			Author:    repository.Signature{When: h.begun},
			Committer: repository.Committer(h.begun),
			Touched:   []repository.Touch{{Path: page.Path, Blob: first}}})
	}
	return all
}

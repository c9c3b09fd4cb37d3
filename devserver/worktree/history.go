package worktree

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
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

// change is what happened to one file at one time. It has an id of its own, as a
// content may come back: see names.
type change struct {
	repository.Commit
	path          string
	head          string // the version of the directory that it led to
	before, after []byte // nil for no file
}

// add notes what became of a file, and returns what a file's Last is: its content's
// id, and that of the content before.
func (h *history) add(before *repository.Snapshot, head, path string, text []byte, blob string, seen repository.Commit) *repository.Commit {
	was, existed := before.File(path)
	h.sequence++
	seen.SHA, seen.Sequence, seen.Parent = blob, h.sequence, was.Blob // none: of a file that was created the history tells
	c := change{Commit: seen, path: path, head: head, after: text}
	var id [20]byte
	_, _ = rand.Read(id[:])
	c.SHA = hex.EncodeToString(id[:])
	c.Touched = []repository.Touch{{Path: path, Blob: blob, Created: !existed}}
	if c.Parent = ""; existed {
		c.Parent, c.before = was.Blob, contentOf(was)
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

// answered is what an answer to a write names a change: the content that the file has
// got, or the directory's version where there is none.
func (c *change) answered() string {
	if c.after == nil {
		return c.head
	}
	return c.Touched[0].Blob
}

// names are the ids by which the history tells of the changes of a file, or of all: the
// ids of their answers. Those that have the same go by ids of their own.
func (h *history) names(path string) map[int]string {
	names, times := map[int]string{}, map[[2]string]int{}
	for i := range h.changes {
		c := &h.changes[i]
		times[[2]string{c.path, c.answered()}]++
	}
	for i := range h.changes {
		c := &h.changes[i]
		switch {
		case path != "" && c.path != path:
		case times[[2]string{c.path, c.answered()}] == 1:
			names[i] = c.answered()
		default:
			names[i] = c.SHA
		}
	}
	return names
}

// recurrences are the times of the changes of a file that have the same id, of which the
// revision is the beginning, where these are several: its content, or the version of the
// directory, has come back.
func (h *history) recurrences(path, revision string) []time.Time {
	times := map[string][]time.Time{}
	for i := range h.changes {
		c := &h.changes[i]
		for _, id := range []string{c.Touched[0].Blob, c.head} {
			if c.path == path && id != "" && strings.HasPrefix(id, revision) {
				times[id] = append(times[id], c.Committer.When)
			}
		}
	}
	for _, all := range times {
		if len(all) > 1 {
			return all
		}
	}
	return nil
}

// foundAs is the id of a file as it was found, of that content, among the names of its
// changes.
func foundAs(path, blob string, names map[int]string) string {
	for _, name := range names {
		if name == blob { // it has come back
			return object.Hash(object.Blob, []byte("found "+path)).String()
		}
	}
	return blob
}

// at is what a file was at a change, its own or another file's, by any of the change's
// ids, or when it had a content of that id, or is now. The sha is the one that the history
// has.
func (h *history) at(now *repository.Snapshot, path, revision string) (sha string, content []byte, err error) {
	id := "" // that the revision is the beginning of
	found := func(name string, text []byte, ids ...string) {
		for _, one := range ids {
			switch {
			case one == "" || !strings.HasPrefix(one, revision):
			case id != "" && id != one:
				err = repository.ErrAmbiguous
			default:
				id, sha, content = one, name, text
			}
		}
	}
	file, exists := now.File(path)
	text := contentOf(file)
	found(now.Head.Commit, text, now.Head.Commit)
	names := h.names(path)
	if first := slices.IndexFunc(h.changes, func(c change) bool { return c.path == path }); first >= 0 {
		c := &h.changes[first]
		if text = c.before; text != nil {
			name := foundAs(path, c.Parent, names)
			found(name, text, name, c.Parent)
		}
	}
	for i := range h.changes {
		c := &h.changes[i]
		if c.path != path {
			found(c.SHA, text, c.SHA)
			if id != c.head { // else this file has a change of the same change set
				found(c.head, text, c.head)
			}
			continue
		}
		text = c.after
		found(names[i], text, c.Touched[0].Blob, c.head, c.SHA)
	}
	if exists {
		found(file.Blob, text, file.Blob)
	}
	switch {
	case err != nil:
		return "", nil, err
	case id == "":
		return "", nil, repository.ErrUnknownCommit
	case content == nil:
		return sha, nil, repository.ErrAbsent
	}
	return sha, content, nil
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
	first, names := file.Blob, h.names(page.Path)
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
			row := c.Commit
			row.SHA = names[i]
			all = append(all, row)
		}
	}
	if page.Path != "" && exists && !created && within(firstSequence) {
		all = append(all, repository.Commit{SHA: foundAs(page.Path, first, names), Sequence: firstSequence, Parent: unknownCommit, Message: foundMessage,
			Author:    repository.Signature{When: h.begun},
			Committer: repository.Committer(h.begun),
			Touched:   []repository.Touch{{Path: page.Path, Blob: first}}})
	}
	return all
}

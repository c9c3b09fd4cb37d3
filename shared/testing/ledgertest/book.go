package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/requestid"
)

// commit makes a commit on top of another, stores its objects and describes
// it as a writer does. An empty text deletes the file. No two commits are the
// same: each is a second later than the one before.
func (b *bench) commit(parent string, changes map[string]string) repository.Commit {
	b.Helper()
	return b.commitLike("", parent, changes)
}

// commitLike makes a commit whose id begins with the digits given, by trying
// messages.
func (b *bench) commitLike(digits, parent string, changes map[string]string) repository.Commit {
	b.Helper()
	files := maps.Clone(b.files[parent])
	b.now = b.now.Add(time.Second)
	author := repository.Signature{Name: "Ada Lovelace", Email: "ada@example.com", When: b.now}
	c := repository.Commit{
		Parent: parent, Author: author,
		Committer: repository.Signature{Name: "svc", Email: "noreply@svc", When: b.now.UTC()},
		Message:   fmt.Sprintf("Change %d files\n\nSvc-Principal: service_account/x\n", len(changes)),
		Once:      b.once,
	}
	if c.Once != nil {
		c.Once.Until = b.now.Add(change.Remembered)
		c.Message += repository.RequestTrailer + requestid.New() + "\n"
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if touch := b.touch(files, path, changes[path]); repository.IsFile(path) {
			c.Touched = append(c.Touched, touch)
		}
	}
	tree := b.tree(files)
	c.Tree = tree.String()
	raw := object.Commit{Tree: tree, Author: c.Author, Committer: c.Committer, Message: c.Message}
	if parent != "" {
		raw.Parents = []object.ID{object.ParseID(parent)}
	}
	content := object.EncodeCommit(raw)
	for try := 0; !strings.HasPrefix(object.Hash(object.CommitKind, content).String(), digits); try++ {
		raw.Message = fmt.Sprintf("%s\n%d\n", c.Message, try)
		content = object.EncodeCommit(raw)
	}
	c.Message = raw.Message
	c.SHA = b.put(object.CommitKind, content).String()
	b.files[c.SHA] = files
	return c
}

func (b *bench) touch(files map[string]string, path, text string) repository.Touch {
	_, existed := files[path]
	if text == "" {
		delete(files, path)
		return repository.Touch{Path: path}
	}
	files[path] = text
	return repository.Touch{Path: path, Blob: object.Hash(object.Blob, []byte(text)).String(), Created: !existed, Text: []byte(text)}
}

func (b *bench) put(kind object.Kind, content []byte) object.ID {
	b.Helper()
	b.Put(b, kind, content)
	return object.Hash(kind, content)
}

// tree stores the trees and blobs of files.
func (b *bench) tree(files map[string]string) object.ID {
	b.Helper()
	var entries []object.TreeEntry
	folders := map[string]map[string]string{}
	for path, text := range files {
		if folder, name, below := strings.Cut(path, "/"); below {
			if folders[folder] == nil {
				folders[folder] = map[string]string{}
			}
			folders[folder][name] = text
			continue
		}
		entries = append(entries, object.TreeEntry{Mode: object.ModeFile, Name: path, ID: b.put(object.Blob, []byte(text))})
	}
	for folder, below := range folders {
		entries = append(entries, object.TreeEntry{Mode: object.ModeFolder, Name: folder, ID: b.tree(below)})
	}
	slices.SortFunc(entries, func(x, y object.TreeEntry) int {
		if x.Less(y) {
			return -1
		}
		return 1
	})
	return b.put(object.TreeKind, object.EncodeTree(entries))
}

// same compares commits, times as instants and zones, touches without the
// places of their objects.
func (b *bench) same(what string, got []repository.Commit, want ...repository.Commit) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%s: %d commits, want %d", what, len(got), len(want))
	}
	for i := range got {
		if g, w := describe(got[i]), describe(want[i]); g != w {
			b.Errorf("%s: commit %d is\n%s, want\n%s", what, i, g, w)
		}
		for _, t := range got[i].Touched {
			if t.Text != nil && object.Hash(object.Blob, t.Text).String() != t.Blob {
				b.Errorf("%s: commit %d carries the text %q of %s, which is not its blob", what, i, t.Text, t.Path)
			}
		}
	}
}

func describe(c repository.Commit) string {
	var touches []string
	for _, touch := range c.Touched {
		touches = append(touches, fmt.Sprintf("%s %s %t", touch.Path, touch.Blob, touch.Created))
	}
	slices.Sort(touches)
	return fmt.Sprintf("%d %s tree %s parent %q by %s <%s> %s, %s <%s> %s: %q %q", c.Sequence, c.SHA, c.Tree, c.Parent,
		c.Author.Name, c.Author.Email, c.Author.When.Format(time.RFC3339),
		c.Committer.Name, c.Committer.Email, c.Committer.When.Format(time.RFC3339), c.Message, touches)
}

// touching leaves in a commit only the touches of a path.
func touching(c repository.Commit, path string) repository.Commit {
	c.Touched = slices.DeleteFunc(slices.Clone(c.Touched), func(t repository.Touch) bool { return t.Path != path })
	return c
}

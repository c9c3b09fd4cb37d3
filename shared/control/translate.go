package control

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// readers is how many documents are read at a time to compare commits.
const readers = 8

// describe makes the entries of traces. What the control plane committed says
// itself what it changed; for the rest documents are read, several at a time.
func (s *Session) describe(ctx context.Context, traces []trace) ([]Activity, error) {
	entries := make([]Activity, len(traces))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, t := range traces {
		entries[i] = t.activity()
		if entries[i].Messages != nil {
			continue
		}
		if messages, known := s.knownMessages(t); known {
			entries[i].Messages = messages
			continue
		}
		group.Go(func() (err error) {
			entries[i].Messages, err = s.compared(ctx, t)
			return err
		})
	}
	return entries, group.Wait()
}

// knownMessages are the messages of a trace that need no reading.
func (s *Session) knownMessages(t trace) ([]activity.Message, bool) {
	folder, _, _ := workspace.SplitPath(t.touch.Path)
	if _, ok := folder.Type(); !ok {
		return fileMessage(t), true
	}
	if ours(t.commit) {
		if messages, ok := readMessages(t.commit.Message); ok {
			return messages, true
		}
	}
	return s.service.words.Get(s.wordsOf(t))
}

// fileMessage is all that is said of a file that is no document.
func fileMessage(t trace) []activity.Message {
	what := "the workspace file " + workspace.File
	if folder, key, ok := workspace.SplitPath(t.touch.Path); ok && folder == workspace.Schemas {
		what = "schema " + quoted(key)
	}
	return []activity.Message{{Message: what + " " + actionOf(*t.touch)}}
}

// wordsOf names the messages of a trace, which never change: a commit is what
// its name says.
func (s *Session) wordsOf(t trace) string {
	return s.entry.Workspace.ID + " " + t.commit.SHA + " " + t.touch.Path
}

// compared works out a trace's messages from the document before and after.
func (s *Session) compared(ctx context.Context, t trace) ([]activity.Message, error) {
	repo, err := s.repository(ctx)
	if err != nil {
		return nil, err
	}
	before, err := s.treeAt(ctx, repo, t.touch.Path, t.commit.Parent)
	if err != nil {
		return nil, err
	}
	after, err := s.treeAt(ctx, repo, t.touch.Path, t.commit.SHA)
	if err != nil {
		return nil, err
	}
	messages := difference(t.touch.Path, before, after)
	name := s.wordsOf(t)
	bytes := int64(contentBytes + len(name))
	for _, m := range messages {
		bytes += int64(len(m.Scope) + len(m.Message))
	}
	s.service.words.Put(name, messages, bytes)
	return messages, nil
}

// difference is document.Diff for whatever may stand in a file.
func difference(path string, before, after *jsontree.Node) []activity.Message {
	folder, key, _ := workspace.SplitPath(path)
	t, _ := folder.Type()
	item := t.Noun() + " " + quoted(key)
	switch {
	case after != nil && after.Kind != jsontree.Object:
		return []activity.Message{{Message: item + " is not a JSON object"}}
	case before == nil || before.Kind == jsontree.Object:
		if messages := activity.Diff(before, after); len(messages) > 0 {
			return messages
		}
		return []activity.Message{{Message: "written anew; it says the same"}}
	case after == nil:
		return []activity.Message{{Message: item + " deleted"}}
	}
	return []activity.Message{{Message: item + " is a JSON object again"}}
}

// treeAt is a document in a commit; nil when the commit does not hold it, or
// is not known itself, as the one before the first.
func (s *Session) treeAt(ctx context.Context, repo Repository, path, commit string) (*jsontree.Node, error) {
	if commit == "" {
		return nil, nil
	}
	_, text, err := repo.At(ctx, s.entry.Head, path, commit)
	if errors.Is(err, repository.ErrAbsent) || errors.Is(err, repository.ErrUnknownCommit) {
		return nil, nil
	}
	if err != nil {
		return nil, storageFault(err)
	}
	return decode(path, text).tree, nil
}

// blobID is git's name for a content.
func blobID(content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

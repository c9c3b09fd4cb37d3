package feed

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
	"svc.example/svc/shared/workspace"
)

const (
	// readers is how many documents are read at a time to compare commits for an
	// answer, and maxCompared how many for all answers together.
	readers     = 8
	maxCompared = 4 * readers
	// wordsBytes is about what the messages of a commit take beside their texts.
	wordsBytes = 256
	// maxTexts is about how many bytes of documents are compared for an answer:
	// a page ends early where more would have to be.
	maxTexts = 4 << 20
)

// describe makes the entries of traces, of the first ones at least. What the
// control plane committed says itself what it changed; for the rest documents
// are read, several at a time, until they are many bytes.
func (r *Reader) describe(ctx context.Context, traces []trace) ([]Activity, error) {
	entries := make([]Activity, len(traces))
	errs := make([]error, len(traces))
	var all errgroup.Group
	all.SetLimit(readers)
	var bytes atomic.Int64
	described := len(traces)
	for i, t := range traces {
		entries[i] = t.activity()
		if entries[i].Messages != nil {
			continue
		}
		if messages, known := r.knownMessages(t); known {
			entries[i].Messages = messages
			continue
		}
		if bytes.Load() > maxTexts {
			described = i
			break
		}
		all.Go(func() error {
			entries[i].Messages, errs[i] = r.compared(ctx, t, &bytes)
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	for i, err := range errs {
		if err != nil && i > 0 && fault.Of(err).Kind == fault.Unavailable { // the rest is for another page
			return entries[:i], nil
		}
		if err != nil {
			return nil, err
		}
	}
	return entries[:described], nil
}

// knownMessages are the messages of a trace that need no reading.
func (r *Reader) knownMessages(t trace) ([]activity.Message, bool) {
	folder, _, _ := workspace.SplitPath(t.touch.Path)
	if _, ok := folder.Type(); !ok {
		return fileWords(t.touch.Path, actionOf(*t.touch)), true
	}
	if messages, ok := Messages(t.commit, t.touch.Path); ok {
		return messages, true
	}
	return r.feed.words.Get(r.wordsOf(t))
}

// fileWords is all that is said of a file that is no document.
func fileWords(path, action string) []activity.Message {
	what := "the workspace file " + workspace.File
	if folder, key, ok := workspace.SplitPath(path); ok && folder == workspace.Schemas {
		what = "schema " + terminal.Quote(key)
	}
	return []activity.Message{{Message: what + " " + action}}
}

// wordsOf names the messages of a trace, which never change: a commit is what
// its name says.
func (r *Reader) wordsOf(t trace) string {
	return r.cursors.Workspace.ID + " " + t.commit.SHA + " " + t.touch.Path
}

// compared works out a trace's messages from the document before and after, and
// adds how many bytes these have. Decoded they are many times as large, so that
// large ones take turns.
func (r *Reader) compared(ctx context.Context, t trace, bytes *atomic.Int64) ([]activity.Message, error) {
	select {
	case r.feed.comparing <- struct{}{}:
		defer func() { <-r.feed.comparing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	before, err := r.source.Text(ctx, t.touch.Path, t.commit.Parent)
	if err != nil {
		return nil, err
	}
	after, err := r.source.Text(ctx, t.touch.Path, t.commit.SHA)
	if err != nil {
		return nil, err
	}
	bytes.Add(int64(len(before) + len(after)))
	leave, err := r.feed.large.Take(ctx, r.principal, int64(len(before)+len(after)))
	if err != nil {
		return nil, err
	}
	defer leave()
	name := r.wordsOf(t)
	if messages, known := r.feed.words.Get(name); known { // another request has been faster
		return messages, nil
	}
	messages := Difference(t.touch.Path, before, after)
	weight := int64(wordsBytes + len(name))
	for _, m := range messages {
		weight += int64(len(m.Scope) + len(m.Message))
	}
	r.feed.words.Put(name, messages, weight)
	return messages, nil
}

// Difference says in words what became of a file of the layout, nil for none: what
// the activity feed says of it.
func Difference(path string, before, after []byte) []activity.Message {
	return Compare(path, treeOf(path, before), treeOf(path, after))
}

// Compare is activity.Diff for whatever may stand in a file.
func Compare(path string, before, after *jsontree.Node) []activity.Message {
	folder, key, _ := workspace.SplitPath(path)
	item := folder.ItemType().Noun() + " " + terminal.Quote(key)
	file := folder == workspace.Schemas || path == workspace.File
	switch {
	case file && before == nil:
		return fileWords(path, actionCreated)
	case file && after != nil:
		return fileWords(path, actionUpdated)
	case file:
		return fileWords(path, actionDeleted)
	case after != nil && after.Kind != jsontree.Object:
		return []activity.Message{{Message: item + " is not a JSON object"}}
	case before == nil || before.Kind == jsontree.Object:
		if messages := activity.Diff(before, after); len(messages) > 0 {
			return messages
		}
		return []activity.Message{{Message: "reformatted, no change in meaning"}}
	case after == nil:
		return []activity.Message{{Message: item + " deleted"}}
	}
	return []activity.Message{{Message: item + " is a JSON object again"}}
}

// treeOf decodes a document, nil where there is none.
func treeOf(path string, text []byte) *jsontree.Node {
	if text == nil {
		return nil
	}
	return workspace.Decode(path, text).Tree
}

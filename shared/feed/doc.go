// Package feed tells what commits changed: histories, the activity feed, and its words.
//
// The messages of svc's own commits carry the words, so that a page of the feed needs no
// documents. The cursors of all lists are made here, too.
//
// The message of a commit that touches one item is
//
//	production: enabled set to true
//
//	tags: added web
//
//	Svc-Principal: user/0123456789abcdef
//
// with the activity feed's messages as subject and body. A first message that is too
// long for a subject stands in the body too. Messages that this form would distort stand
// as JSON in a second trailer, Svc-Changes. Only commits committed by svc itself are read
// that way: what anybody else committed is compared with its parent. A commit of several
// items says in Svc-Changes what it did to each, by path, as long as that is short, and
// is compared too where it is not.
//
// What its author says of a commit stands before all of it, in a paragraph or several: the
// title of a change request, and why. Svc-Request, Svc-Requested-By and Svc-Approved-By
// say which request it was, who proposed it and who approved.
//
// Who may take a commit back is named in the trailer Svc-Guard, and an undo names what it
// takes back in Svc-Undoes.
//
// What a Feed remembers (messages that it has worked out) only saves time.
package feed

import (
	"context"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/turns"
)

// Source is a workspace as one request reads it, at its head. Its errors are faults.
type Source interface {
	// History is a page of the history, newest first.
	History(ctx context.Context, page repository.Page) ([]repository.Commit, error)
	// Text is a file as it was in a commit; nil when the commit does not hold it, or is
	// not known itself, as the one before the first.
	Text(ctx context.Context, path, commit string) ([]byte, error)
	// KnowsEnvironment refuses the name of an environment that is not there; "" names none.
	KnowsEnvironment(ctx context.Context, name string) error
}

// Feed tells of all workspaces. It may be used concurrently.
type Feed struct {
	words     *lru.Cache[string, []activity.Message] // by workspace, commit and path
	comparing chan struct{}                          // holds who compares documents
	large     *turns.Turns                           // for large ones
}

// New makes a Feed that remembers so many bytes of messages.
func New(bytes int64, large *turns.Turns) *Feed {
	return &Feed{words: lru.New[string, []activity.Message](bytes), comparing: make(chan struct{}, maxCompared), large: large}
}

// Held is how many bytes are remembered.
func (f *Feed) Held() int64 { return f.words.Held() }

// Reader reads the feed of one workspace for one request.
type Reader struct {
	feed      *Feed
	cursors   Cursors
	principal string
	source    Source
}

// Of is the feed of a workspace, as a principal reads it.
func (f *Feed) Of(workspace access.Workspace, principal access.ID, source Source) *Reader {
	return &Reader{f, Cursors{workspace}, string(principal), source}
}

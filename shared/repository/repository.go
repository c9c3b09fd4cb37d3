package repository

import (
	"context"
	"errors"
	"time"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/workspace"
)

// Head is a version of a workspace: the commit it names and where that stands
// in the workspace's history.
type Head struct {
	Commit   string // 40 hexadecimal digits; "" before the first commit
	Sequence int64  // the commit's; 0 before the first
	// Access is the version of the workspace's keys, principals and record. A
	// write is refused when it has changed since the writer was authenticated, so
	// that a revocation never races a write.
	Access int64
	// Fence orders writers and sweeps: a sweep raises it before it reads what to
	// keep, and the head moves only if it still is what the writer read before
	// it stored anything. It is 0 where nothing is ever swept.
	Fence int64
	// Index names the rows that tell the history, for a ledger that may have
	// several sets of them. It means nothing to anybody else.
	Index string
	// Base is where a reader begins; see Checkpointed.
	Base Base
	// Versions is what the writer of the commit has told of what is served at
	// it, see Draft; "" where nobody has told.
	Versions string
	// Turn says whose turn it is to move the head, see Queue; "" where nobody waits.
	Turn string
}

// Base is where a reader begins that has nothing in memory: a snapshot that
// is stored as one object, and the rows after it. Only a ledger that is
// Checkpointed has one.
type Base struct {
	// Name is the snapshot's, see Checkpoints. "" is the empty workspace
	// before the first commit.
	Name     string
	Sequence int64 // the commit's that the snapshot shows
	// Follow: the rows after this sequence carry the texts that they speak of,
	// and one answer holds them all. A reader that stands there or later
	// follows them; for one that stands before it the base is the shorter way.
	Follow int64
	// Bytes is how much the rows after the base hold: what a ledger judges by.
	Bytes int64
}

// The committer of what svc itself writes.
const (
	CommitterName  = "svc"
	CommitterEmail = "noreply@svc"
)

// Committer commits what svc itself writes, at a time.
func Committer(when time.Time) Signature {
	return Signature{Name: CommitterName, Email: CommitterEmail, When: when}
}

// Signature is who did something, and when, to the second: that is what git
// stores.
type Signature = object.Signature

// Commit is one entry of a workspace's history.
type Commit struct {
	SHA string
	// Sequence is where the commit stands in the history. It rises by one from
	// commit to commit and is never given to two states: when a history is
	// replaced (a forced push), the new one goes on above the old one.
	Sequence  int64
	Parent    string // the first parent; "" for a root commit
	Author    Signature
	Committer Signature
	Message   string // as committed, trailers included
	Touched   []Touch
	// Tree is the id of the commit's root tree. A reader that followed the
	// touches compares it with the tree it arrived at: they differ when the
	// commit also changed what the touches do not tell (foreign files, modes).
	// "" costs such a reader a walk through the tree before its next write.
	Tree string
	// Pack names the pack that the commit's own objects were stored in, when
	// that is known.
	Pack string
	// Base names the snapshot at this commit that was stored with it, for the
	// ledger to name it in the head that it makes of the commit. It is not told
	// of commits in the history.
	Base string
	// Versions is for the head, like Base.
	Versions string
	// Once is for the ledger to keep with the commit. It is not told of commits in the
	// history.
	Once *Once
	// Rows is what a ledger has made of the commit when it was asked whether a
	// snapshot is due, so that it is made once. It means nothing to anybody else.
	Rows any
}

// Touch is what the commit did to the file at a path, if it did anything.
func (c *Commit) Touch(path string) (Touch, bool) {
	for _, touch := range c.Touched {
		if touch.Path == path {
			return touch, true
		}
	}
	return Touch{}, false
}

// Touch is what a commit did to one file of the layout (see IsFile). A change
// of the file's mode alone is none.
type Touch struct {
	Path string
	Blob string // the content's object id; "" when the file was deleted
	// Created says that the file was not there before.
	Created bool
	// Pack, Offset and Length say where the object lies, when that is known:
	// the pack's name without "pack-" and ".pack", and the part of that
	// file that holds the compressed object with its header. They are a hint:
	// packs are merged and collected.
	Pack   string
	Offset int64
	Length int64
	// Base is how many bytes before Offset begins what the object is a difference
	// from, once versions of a document were merged (see package pack); 0 when it
	// is whole, or that is not known. It saves a request.
	Base int64
	// Text is the content where it is at hand: a writer gives it, and a ledger
	// may keep it for those who follow the rows. nil when it is not there.
	Text []byte
}

// File is one file of the layout at a head. Its text is shared: nobody
// changes it.
type File struct {
	Path string
	Blob string
	Text []byte
	// Err is why there is no text; nil for a file that could be read.
	Err *workspace.Unread
	// Last is the last commit that touched the file, without Touched. Its Tree
	// and Pack may be missing. It is shared by all files of which it is: nobody
	// changes it.
	Last *Commit
}

// Change is one file to be written; one whose content is nil is deleted.
type Change struct {
	Path    string
	Content []byte
}

// Draft is a commit to be made.
type Draft struct {
	Changes   []Change
	Author    Signature
	Committer Signature
	Message   string
	// RequestID is the id of the request that asks for the commit; see package
	// requestid. It becomes the last line of the message, a trailer, so that no
	// two requests ever make one commit: when a Ledger finds a commit at the
	// head that it was asked to put there, the request itself was the one who
	// did. "" draws an id.
	RequestID string
	// Once is the request that the commit is made for, if that may be sent again; nil
	// for others.
	Once *Once
	// Approved: who has to approve what the commit changes has done so, or its author may
	// do without. Another draft is refused with Unreviewed where that is asked for.
	Approved bool
	// Turn is the request's place among those that write at the same time; nil where it
	// rather loses the race for the head.
	Turn *Turn
	// Intent is what the draft was decided from, for another process to decide it again
	// on what others have made meanwhile; nil, or empty, where none can.
	Intent func() []byte
	// Decide makes the draft of another's intent on a snapshot, which need not have landed:
	// the one that its owner would have made there. It is false where that would be none,
	// or cannot be decided here. nil decides for nobody.
	Decide func(ctx context.Context, tip *Snapshot, intent []byte) (Draft, bool)
	// Versions is told what the commit leads to, and tells what is served then,
	// for a head that keeps it; see Checkpointed. It may be nil.
	Versions func(ctx context.Context, next *Snapshot) string
	// Briefs is asked where the commit comes with a stored snapshot: what it makes
	// of that is stored with it, for readers to whom the texts would take longer;
	// see Snapshot.TakeBriefs. It may be nil.
	Briefs func(ctx context.Context, next *Snapshot) []byte
}

// The ways in which a repository says no. Everything else is a failure of the
// storage underneath.
var (
	// ErrMoved: the head, its access version or its fence is no longer the one
	// that the write began with. Nothing was written; read again and decide
	// again.
	ErrMoved = errors.New("the head has moved")
	// ErrUnknownCommit: the history holds no commit of that name.
	ErrUnknownCommit = errors.New("no such commit")
	// ErrAmbiguous: an abbreviation names more than one commit.
	ErrAmbiguous = errors.New("the abbreviation names several commits")
	// ErrAbsent: the commit is known and holds no file of that path.
	ErrAbsent = errors.New("the file is not in that commit")
	// ErrBusy: the storage is overloaded or locked by someone else; nothing
	// was written, and the same request may succeed later.
	ErrBusy = table.ErrBusy
	// ErrFailed: the storage refuses for good, and asking again would change
	// nothing: a permission is missing, for example. Nothing was written.
	ErrFailed = errors.New("the storage refuses the request")
	// ErrNewer: a newer version of svc has stored this, in a format that this
	// one does not know. Nothing was read of it and nothing was written.
	ErrNewer = errors.New("stored by a newer version of svc")
	// ErrDraft: the draft cannot be a commit: a path outside the layout, a
	// name that git does not take. Nothing was written.
	ErrDraft = errors.New("the draft cannot be committed")
	// ErrOccupied: where a file would have to lie there is something that the
	// layout does not know (a folder, a submodule). Nothing was written.
	ErrOccupied = errors.New("something else lies at that path")
	// ErrUnknownOutcome: the storage failed in a way that leaves open whether
	// the commit landed, and could not be asked.
	ErrUnknownOutcome = errors.New("whether the commit landed is unknown")
)

// Page asks for a page of history, newest first.
type Page struct {
	Path   string // "" for the whole workspace
	Before int64  // only sequences below this; 0 for no bound
	Limit  int    // 0 for all
}

// Ledger is what a repository needs to know of its history and its head. All
// of it is read through a head: rows that no head names are invisible, and a
// head that was never one, or is no part of the history any more, is
// ErrUnknownCommit or ErrMoved.
//
// A reader follows the rows as long as each one's Parent is the commit of the
// row before. Where they are no such line (histories that were merged), it
// reads the new head from scratch.
type Ledger interface {
	// Since returns the commits after a sequence up to the head, oldest first.
	// For a sequence of a history that was replaced it is ErrMoved or returns
	// commits that do not begin where that sequence stood.
	Since(ctx context.Context, head Head, after int64) ([]Commit, error)
	// History returns a page of the commits that touched a path, newest
	// first, each with the touches of that path (all, for a page without one).
	History(ctx context.Context, head Head, page Page) ([]Commit, error)
	// At finds a file in the commit that a revision names: a full SHA or an
	// abbreviation of at least four digits. It returns the full SHA also with
	// ErrAbsent.
	At(ctx context.Context, head Head, path, revision string) (sha string, touch Touch, err error)
	// Advance makes a commit the head, if the head is still the one given, with
	// its access version and its fence; else ErrMoved. The commit's objects have
	// been put already. When it returns without an error the commit is durable,
	// and so are they.
	//
	// It may be asked again with the same commit after it failed with some
	// other error, to learn how that ended: a commit that the history already
	// holds is a success, ErrMoved means that it will never be in it. An
	// Advance that itself tried twice must not return ErrMoved because its
	// own first attempt had moved the head.
	Advance(ctx context.Context, from Head, c Commit) (Head, error)
	// LastTouches returns, for every file of the layout at a head, the last
	// commit that touched it, by path. Touched is not needed.
	LastTouches(ctx context.Context, head Head) (map[string]Commit, error)
}

// Checkpointed is what a Ledger has as well if its heads name a Base. All of
// its rows after Base.Follow carry texts, so that a reader needs no object but
// the base. Its heads also keep the Versions of their commits.
type Checkpointed interface {
	// Due reports whether a commit onto a head should come with a snapshot of its
	// own, because so much has come since the head's base, or because its texts
	// are too large for a row. It may note in the commit's Rows what it has made.
	Due(from Head, c *Commit) bool
}

// Checkpoints is what Objects have as well if they keep snapshots. How they
// store one is theirs: it compresses to a fraction.
type Checkpoints interface {
	// PutSnapshot stores a snapshot, durably, unless it is there already. The
	// name is the SHA-256 of the content in 64 hexadecimal digits.
	PutSnapshot(ctx context.Context, name string, content []byte) error
	// Snapshot returns what was stored under a name, or TooLarge.
	Snapshot(ctx context.Context, name string) ([]byte, error)
}

// Objects is where a repository's git objects lie.
type Objects interface {
	// PutPack stores a pack and its index under a name of 40 hexadecimal digits
	// (see pack.NameAt), unless they are there already: durably at the latest
	// when an Advance to a commit in it has returned. Until it is released,
	// either nothing collects the pack, though no head names it, or the fence
	// is raised before it is collected.
	PutPack(ctx context.Context, name string, pack, index []byte) error
	// Release ends that: the head names the pack's commit now, or never will.
	// That it failed is no failure of the commit, so it says nothing.
	Release(name string)
	// Blob returns an object's content, by the place in touch when it has one
	// that still holds, else by its id.
	Blob(ctx context.Context, touch Touch) ([]byte, error)
	// Tree returns everything in the git tree of a commit, for a reader that
	// has no earlier snapshot, or TooLarge.
	Tree(ctx context.Context, head Head) (Tree, error)
}

// Tree is the content of a commit's git tree as far as a repository needs it
// to write the next one: the root's entries, and those of the layout's
// folders, in git's order, whatever they are.
type Tree struct {
	Root    []TreeEntry
	Folders map[string][]TreeEntry       // by name, for the folders of the layout that exist
	Files   map[string][]byte            // path to content, for the files of the layout
	Unread  map[string]*workspace.Unread // those of which there is no content
}

// TreeEntry is one entry of a git tree.
type TreeEntry = object.TreeEntry

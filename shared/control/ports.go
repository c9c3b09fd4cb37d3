package control

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/telemetry"
)

// Entry is what one batched, strongly consistent read tells about a request:
// whose key it carries, what they may do, and the workspace's head.
type Entry struct {
	Key       access.KeyRecord
	Principal access.Principal
	Workspace access.Workspace
	Head      repository.Head
	// Unreadable is what the workspace's branch names where that cannot be read.
	// Head is the last one that could be, then, and writes are refused.
	Unreadable *UnreadableHead
	// Landed is what the request's Idempotency-Key has led to; nil for none. Its
	// commit is one of those up to Head, as far as the ledger knows.
	Landed *Landed
	// Now is the ledger's own time; zero where it has none but this machine's.
	Now time.Time
}

// Landed is the commit that was made under an Idempotency-Key.
type Landed struct {
	Commit  string
	Request string // that it was made for; see repository.Once
	Answer  []byte // the same
	// Previous is what the answer names as the version before. It is of a store of files;
	// elsewhere it is the commit's parent.
	Previous string
	// Sequence is where the commit stood when it landed. A history that was
	// replaced may have it elsewhere, or not at all.
	Sequence int64
	Until    time.Time // it counts, by the ledger's time
}

// UnreadableHead is a head that is not served, and why.
type UnreadableHead struct {
	Commit  string // "" when the branch names none
	Message string // what is wrong, and the way back
}

// Authenticator reads what keys stand for.
type Authenticator interface {
	// Authenticate reads the rows that a key names, in one strongly consistent
	// read. A row that is missing is access.ErrNotFound; whether what was found admits
	// the key is the caller's decision. The same read looks for what has landed under
	// the id of a repository.Once, "" for none.
	Authenticate(ctx context.Context, key access.Key, once string) (Entry, error)
}

// Directory finds the keys of the one workspace that it is of, and tells its head
// without any. Event streams need it.
type Directory interface {
	// Current reads the workspace and its head; the entry's key and principal are
	// zero.
	Current(ctx context.Context) (Entry, error)
	// Find also reads the key of an id and its principal. A row that is missing is
	// access.ErrNotFound.
	Find(ctx context.Context, id access.ID) (Entry, error)
}

// KeyFinder finds a key of a workspace by its id alone.
type KeyFinder interface {
	// FindKey reads a key, its principal and the head. A row that is missing is
	// access.ErrNotFound.
	FindKey(ctx context.Context, workspace, id access.ID) (Entry, error)
}

// Repository is one workspace's versioned documents. What fails for a while
// only wraps repository.ErrBusy or a context's error, and is answered with 503;
// any other failure of the storage is answered with 500.
type Repository interface {
	// Snapshot returns everything at a head, from memory when it can.
	Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error)
	// Commit writes on top of a snapshot and returns the one that it leads to, or
	// fails with repository.ErrMoved.
	Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error)
	// History returns a page of history, newest first.
	History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error)
	// At returns a file as it was in a commit, and the commit's full SHA.
	At(ctx context.Context, head repository.Head, path, revision string) (sha string, content []byte, err error)
	// Past returns everything as it was in a commit.
	Past(ctx context.Context, head repository.Head, revision string) (*repository.Snapshot, error)
}

// Recurring is a Repository in which an id may be that of several commits of an item.
type Recurring interface {
	// Recurrences are the times of the commits of a file that an id is of, which may be
	// abbreviated, where these are several.
	Recurrences(path, revision string) []time.Time
}

// SavedContexts finds saved example contexts. What fails for a while only wraps
// telemetry.ErrBusy or a context's error.
type SavedContexts interface {
	// Contexts finds those that match, most recently seen first.
	Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error)
	// Walk visits those of an environment; see telemetry.Store.
	Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) (more bool)) error
	// Forget deletes those of a person; see telemetry.Store.
	Forget(ctx context.Context, workspace string, environments []string, contextType, key string, now time.Time) (found bool, err error)
}

// Evaluations tells how often items were evaluated. What fails for a while only wraps
// telemetry.ErrBusy or a context's error.
type Evaluations interface {
	// Evaluations are an item's counts; see telemetry.Store.
	Evaluations(ctx context.Context, workspace, key string, first, last telemetry.Day) (map[string][]telemetry.EvaluatedDay, error)
	// Evaluated tells on which day items were evaluated last; see telemetry.Store.
	Evaluated(ctx context.Context, workspace string) (*telemetry.Evaluated, error)
}

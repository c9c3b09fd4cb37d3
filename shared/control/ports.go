package control

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
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
	Landed *repository.Landed
	// Now is the ledger's own time; zero where it has none but this machine's.
	Now time.Time
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
	change.Repository
	// Past returns everything as it was in a commit.
	Past(ctx context.Context, head repository.Head, revision string) (*repository.Snapshot, error)
}

// SavedContexts finds saved example contexts. What fails for a while only wraps
// telemetry.ErrBusy or a context's error.
type SavedContexts interface {
	// Contexts finds those that match, most recently seen first.
	Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error)
	change.SavedContexts
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

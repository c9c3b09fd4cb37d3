package change

import (
	"context"
	"errors"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/turns"
)

// Repository is what is read and written of a workspace's documents.
type Repository interface {
	served.History
	// Snapshot returns everything at a head, from memory when it can.
	Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error)
	// Commit writes on top of a snapshot and returns the one that it leads to, or
	// fails with repository.ErrMoved.
	Commit(ctx context.Context, base *repository.Snapshot, draft repository.Draft) (*repository.Snapshot, error)
}

// Recurring is a Repository in which an id may be that of several commits of an item.
type Recurring interface {
	// Recurrences are the times of the commits of a file that an id is of, which may be
	// abbreviated, where these are several.
	Recurrences(path, revision string) []time.Time
	// Together are the files that the change sets changed whose answer has named an id.
	Together(commit string) []string
}

// SavedContexts finds saved example contexts. What fails for a while only wraps
// telemetry.ErrBusy or a context's error.
type SavedContexts interface {
	// Walk visits those of an environment; see telemetry.Store.
	Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) (more bool)) error
}

// Settings are what a Service works with.
type Settings struct {
	Now func() time.Time // the date of commits
	// SchemaAddress is the $schema of every new document; "" for none.
	SchemaAddress string
	// Files: what is an item's commitSha elsewhere is the id of its content, and its
	// $schema stays as it is.
	Files bool
	// OneWriter: writes take turns before they are decided.
	OneWriter bool
	// MaxTexts is how many bytes the documents of a workspace may have together; 0 is
	// repository.MaxTexts, which is also the most.
	MaxTexts int64
	// MaxCompiled bounds what an impact compiles of one environment, in bytes; 0 is any.
	MaxCompiled int64
	// Contexts finds saved contexts; nil where none are saved.
	Contexts SavedContexts
}

// Service makes changes in all workspaces. It may be used concurrently.
type Service struct {
	settings Settings
	served   *served.Memory
	large    *turns.Turns // bounds what is decoded at a time of large documents
	// Pause waits before a write is tried again.
	Pause func(ctx context.Context, try int) error
	// writing is held by the one write that has its turn; nil where they race.
	writing chan struct{}
	impacts chan struct{} // holds who compiles what a dry run reaches
	// ImpactTime is how long a dry run looks at saved contexts.
	ImpactTime time.Duration
}

// retries are the waits of writers that have met.
var retries = backoff.Backoff{First: 4 * time.Millisecond, Max: 250 * time.Millisecond}

// New makes a Service.
func New(settings Settings, served *served.Memory, large *turns.Turns) *Service {
	s := &Service{settings: settings, served: served, large: large, Pause: retries.Wait,
		impacts: make(chan struct{}, impactsAtOnce), ImpactTime: impactTime}
	if settings.OneWriter {
		s.writing = make(chan struct{}, 1)
	}
	return s
}

// enter waits for the turn to write, in the order of those that came.
func (s *Service) enter(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, turns.Patience)
	defer cancel()
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, repository.Fault(ctx.Err())
	}
}

// State is a workspace as a request finds it, at the head that was read with its key.
type State struct {
	Workspace  access.Workspace
	Principal  access.Principal
	Head       repository.Head
	Repository Repository
	Feed       *feed.Reader
	// Once is what ledgers call the request's Idempotency-Key, "" for none, and Landed
	// what that has led to, nil for nothing.
	Once   string
	Landed *repository.Landed
	// Now is the ledger's own time; zero where it has none but this machine's.
	Now time.Time
	// Bypassed tells the audit trail of who makes a change that others had to approve; nil
	// where nobody may.
	Bypassed func(ctx context.Context, environments []string) error
	// Reads: the request was admitted for reading, and tells what would be.
	Reads bool
}

// ErrReads is for a request that was admitted for reading and was to write.
var ErrReads = errors.New("a session that was opened for reading was asked to write")

// Writer makes the changes of one request.
type Writer struct {
	service  *Service
	bypassed string // what the audit trail was told of
	// begin reads the state: the one that the request has been admitted at or, again, as
	// it is by now. Its errors are faults.
	begin func(ctx context.Context, again bool) (*State, error)
}

// Writer is one for a request whose state begin reads: the one that it was admitted at
// or, again, as it is by now. The errors of begin are faults.
func (s *Service) Writer(begin func(ctx context.Context, again bool) (*State, error)) *Writer {
	return &Writer{service: s, begin: begin}
}

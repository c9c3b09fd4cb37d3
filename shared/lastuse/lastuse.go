// Package lastuse notes on which day a key was used last, so that one that
// nobody uses can be found and revoked.
//
// What must stay true:
//
//   - No request waits for it or fails because of it. What cannot be stored is
//     tried again with a later use, a minute later at the earliest.
//   - It costs at most one write for a key, a day and an instance, and no read.
//   - The sessions of a person are noted as that person, so that no row is left of each.
//   - Only the use of a key that was accepted counts: a request with a key's id and without
//     its secret is not noted.
//
// It is good to the day and no proof: an instance that ends before its write
// has gone out forgets it.
package lastuse

import (
	"context"
	"sync"
	"time"

	"svc.example/svc/shared/access"
)

// Day is the day of a use.
func Day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// Of is the id that the use of a key is noted under: its own or, of what somebody is signed in
// by, the person's. Sessions come and go, and a person is of interest for longer.
func Of(key access.KeyRecord) access.ID {
	if key.Kind.SignsIn() {
		return key.PrincipalID
	}
	return key.ID
}

const (
	maxKeys    = 10_000 // that an instance remembers for a day; about 1 MB
	maxWrites  = 4      // at a time
	writeTime  = 2 * time.Second
	afterError = time.Minute
)

// Tracker notes what is new. It may be used concurrently.
type Tracker struct {
	// Mark notes that what has an id was used on a day (2006-01-02, UTC), unless a later one is noted.
	Mark func(ctx context.Context, workspace, id access.ID, day string) error
	// Failed hears of a write that failed; it may be nil.
	Failed func(err error)

	mu      sync.Mutex
	day     string
	seen    map[access.ID]bool
	pause   time.Time // before which nothing is written
	writing sync.WaitGroup
	writes  int
}

// Used notes a use. It returns at once.
func (t *Tracker) Used(key access.KeyRecord, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if day := Day(at); day != t.day {
		t.day, t.seen = day, map[access.ID]bool{}
	}
	id := Of(key)
	if t.seen[id] || len(t.seen) >= maxKeys || t.writes >= maxWrites || at.Before(t.pause) {
		return
	}
	t.seen[id] = true
	t.writes++
	day := t.day
	t.writing.Go(func() { t.write(key.WorkspaceID, id, day, at) })
}

func (t *Tracker) write(workspace, id access.ID, day string, at time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	err := t.Mark(ctx, workspace, id, day)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes--
	if err == nil {
		return
	}
	t.pause = at.Add(afterError)
	if t.day == day {
		delete(t.seen, id)
	}
	if t.Failed != nil {
		t.Failed(err)
	}
}

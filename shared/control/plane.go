package control

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/access"
)

// Settings are what a Plane works with. All are needed but Admitted,
// Used and Contexts.
type Settings struct {
	Gate Gate
	// Repository returns a workspace's repository. It is asked once or more
	// for every request, so it keeps what it opened.
	Repository func(ctx context.Context, workspace string) (Repository, error)
	// Now is the time; for expiry and for the date of commits.
	Now func() time.Time
	// PublicURL is where clients reach the service, without /v1. It becomes a
	// part of every new document's $schema.
	PublicURL string
	// Admitted is asked once for each request whose key has proved genuine,
	// before anything is said of the workspace: the place of a rate limit. Its
	// error is the answer, as it is.
	Admitted func(ctx context.Context, key access.KeyRecord) error
	// Used hears of each request whose key was let in, and returns at once. It
	// may be nil.
	Used func(key access.KeyRecord, at time.Time)
	// Contexts finds saved contexts; nil where none are saved.
	Contexts ContextSearch
}

// Plane is the control plane of all workspaces. It may be used concurrently.
type Plane struct {
	settings Settings
	// pause waits before a write is tried again.
	pause func(ctx context.Context, try int) error

	mu    sync.Mutex
	rooms map[string]*room
}

// New makes a Plane.
func New(settings Settings) *Plane {
	return &Plane{settings: settings, pause: jitter, rooms: map[string]*room{}}
}

// maxRooms bounds what an instance remembers. One that serves more workspaces
// at a time only works more.
const maxRooms = 128

func (p *Plane) room(workspace string) *room {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, known := p.rooms[workspace]
	if known {
		return r
	}
	if len(p.rooms) >= maxRooms {
		for other := range p.rooms {
			delete(p.rooms, other)
			break
		}
	}
	r = &room{}
	p.rooms[workspace] = r
	return r
}

const schemaPath = "/schemas/v1/stored-config.json"

// schemaAddress is what $schema is stamped with.
func (p *Plane) schemaAddress() string {
	if p.settings.PublicURL == "" {
		return ""
	}
	return strings.TrimRight(p.settings.PublicURL, "/") + schemaPath
}

const (
	firstPause = 4 * time.Millisecond
	maxPause   = 250 * time.Millisecond
)

// jitter waits for a random part of a time that doubles with every try, so
// that writers who met once do not meet again.
func jitter(ctx context.Context, try int) error {
	most := maxPause
	if try < 6 {
		most = min(maxPause, firstPause<<try)
	}
	timer := time.NewTimer(rand.N(most))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

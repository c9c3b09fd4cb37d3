package sdkapi

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/document/brief"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/versions"
	"svc.example/svc/shared/workspace"
)

// tables keeps what is served of the environments that are polled, for the
// version that each was asked for last.
type tables struct {
	options Options
	guard   authentication.Guard
	byName  *lru.Cache[[2]string, *environment] // by workspace and environment
	told    *lru.Cache[string, string]          // by workspace: the commit whose broken documents were told
}

// environment is what one environment serves. Each lock is held while its part
// is made, so that a change is worked out once for all who poll.
type environment struct {
	evaluated state[*delivery.Table]
	documents state[*Documents]
	units     *units       // what the table is made of, under the lock of evaluated
	bytes     atomic.Int64 // about what all take
}

var seed = maphash.MakeSeed()

// state is what was made of a version, or why the environment is refused.
type state[T sized] struct {
	mu      sync.Mutex
	commit  string           // the head that was looked at last
	lost    []string         // the files that this head has and that could not be read
	held    bool             // what was made of a version, or that it was refused
	version versions.Version // of what was made, without regard to time
	made    T
	refused error
}

// isCurrent reports whether what was made is what would be made now: a file that was
// lost may be back at the same commit.
func (s *state[T]) isCurrent(ctx context.Context, d *control.Delivery) bool {
	if s.commit == "" || s.commit != d.Head().Commit {
		return false
	}
	if len(s.lost) == 0 {
		return true
	}
	opened, err := d.Open(ctx)
	return err != nil || slices.Equal(opened.Snapshot.Lost(), s.lost)
}

// sized is something that says about how many bytes it takes, also when there
// is none.
type sized interface{ Size() int64 }

// kind is which of an environment's versions is meant.
type kind struct {
	of   func(versions.Environment) versions.Version
	told func(versions.Known) versions.Version
}

var (
	client = kind{func(v versions.Environment) versions.Version { return v.Client }, func(k versions.Known) versions.Version { return k.Client }}
	sdk    = kind{func(v versions.Environment) versions.Version { return v.SDK }, func(k versions.Known) versions.Version { return k.SDK }}
)

// at returns what is made of the environment at the delivery's head. Documents
// are read only for a version that nothing was made of yet.
func (s *state[T]) at(ctx context.Context, d *control.Delivery, t *tables, k kind, create func(*workspace.Workspace, versions.Environment) (T, error)) (made T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := d.Head().Commit
	if s.isCurrent(ctx, d) {
		return s.made, s.refused
	}
	if told, known := d.Known(); known && s.held && k.told(told) == s.version {
		s.commit, s.lost = head, nil
		return s.made, s.refused
	}
	opened, err := d.Open(ctx)
	if err != nil {
		return made, err
	}
	now, outline, err := d.Versions(ctx)
	if err != nil {
		return made, err
	}
	s.lost = opened.Snapshot.Lost()
	t.tell(ctx, d, opened)
	if refused := refusedEnvironment(outline, d.Environment()); refused != nil {
		s.forget(d, t)
		s.refused = refused
	} else if !s.held || k.of(now) != s.version {
		// What was served before goes first: nobody asks for it any more, and
		// old and new together would be twice the memory.
		s.forget(d, t)
		ws, err := opened.Effective(ctx)
		if err != nil {
			return made, err
		}
		s.made, s.refused = create(ws, now)
		s.version, s.held = k.of(now), true
		t.weigh(d, s.made.Size())
	}
	s.commit = d.Head().Commit // a forced push may have moved it
	return s.made, s.refused
}

func (s *state[T]) forget(d *control.Delivery, t *tables) {
	var nothing T
	t.weigh(d, -s.made.Size())
	s.commit, s.made, s.held, s.refused = "", nothing, false, nil
}

// holds reports whether what was made of a version is there. It waits for nobody.
func (s *state[T]) holds(v versions.Version) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	return s.held && s.version == v
}

// weigh notes that an environment takes more bytes, or fewer.
func (t *tables) weigh(d *control.Delivery, more int64) {
	t.byName.Weigh(nameOf(d), environmentBytes+t.environment(d).bytes.Add(more))
}

// defaultCacheBytes holds what some 25,000 flags serve.
const defaultCacheBytes = 32 << 20

// environmentBytes is about what an environment takes beside its parts.
const environmentBytes = 512

// maxTold bounds what one commit brings into the log.
const maxTold = 20

// toldBytes is for some 1,000 workspaces.
const toldBytes = 256 << 10

// tell has the log say which documents are broken at a new head, and since when.
func (t *tables) tell(ctx context.Context, d *control.Delivery, opened *served.Head) {
	last, _ := t.told.Get(d.WorkspaceID())
	t.told.Put(d.WorkspaceID(), d.Head().Commit, environmentBytes/2)
	if last == d.Head().Commit || !t.options.TellBroken {
		return
	}
	broken, err := opened.Broken(ctx)
	if err != nil {
		return // Versions has found them already, so this is unlikely; the next commit tells
	}
	for _, b := range broken[:min(len(broken), maxTold)] {
		t.options.Logger.Error(b.Outcome(), "workspace", d.WorkspaceID(), "since", b.Since, "servedFrom", b.ServedFrom, "problem", b.Problems[0].String())
	}
	if more := len(broken) - maxTold; more > 0 {
		t.options.Logger.Error("there are more documents that cannot be served; GET /v1/workspace counts them", "workspace", d.WorkspaceID(), "more", more)
	}
}

func nameOf(d *control.Delivery) [2]string { return [2]string{d.WorkspaceID(), d.Environment()} }

func (t *tables) environment(d *control.Delivery) *environment {
	return t.byName.Share(nameOf(d), environmentBytes, func() *environment { return &environment{} })
}

// find implements delivery.Tables for public SDK keys. Where the head tells the
// version, nothing is loaded before it is needed.
func (t *tables) find(w http.ResponseWriter, r *http.Request, key string) (*delivery.Table, error) {
	d, err := t.options.open(t.guard, r, endpoints.Evaluate, key)
	if err != nil {
		return nil, t.options.noted(w, r, err)
	}
	if told, known := d.Known(); known && !t.environment(d).evaluated.holds(told.Client) {
		if version, known := told.At(t.options.Now().UnixMilli()); known {
			return delivery.Unloaded(d.Environment(), version.String(), func() (*delivery.Table, error) { return t.load(w, r, d) }), nil
		}
	}
	return t.load(w, r, d)
}

func (t *tables) load(w http.ResponseWriter, r *http.Request, d *control.Delivery) (*delivery.Table, error) {
	e := t.environment(d)
	table, err := e.evaluated.at(r.Context(), d, t, client, func(ws *workspace.Workspace, v versions.Environment) (*delivery.Table, error) {
		before := e.units.Size()
		table, needs := t.newTable(e, ws, d, v)
		t.weigh(d, e.units.Size()-before)
		if needs == 0 {
			return table, nil
		}
		return nil, fault.Of(t.options.TooLarge(d.Environment(), needs)).
			Because(fmt.Errorf("the environment %s of the workspace %s takes about %d MB once it is compiled", d.Environment(), d.WorkspaceID(), needs>>20))
	})
	if err != nil {
		return nil, t.options.noted(w, r, err)
	}
	return table, nil
}

// units are what was made of the documents that an environment's table was put
// together from, to make the next one of them and of those that have changed.
type units struct {
	maker *delivery.Units
	of    map[uint64]*delivery.Unit // by the hash of key and brief
	bytes int64                     // about what they take beside the table
}

// unitBytes is about what a unit's place takes.
const unitBytes = 32

func (u *units) Size() int64 {
	if u == nil {
		return 0
	}
	return u.bytes
}

// newTable makes what it has no unit for from one document at a time: all of them
// together would take many times the memory of what is served. It ends with the
// first one that is too much, and tells about how many bytes all would need.
func (t *tables) newTable(e *environment, ws *workspace.Workspace, d *control.Delivery, v versions.Environment) (table *delivery.Table, needs int64) {
	before := e.units
	if before == nil {
		before = &units{maker: delivery.NewUnits(d.Environment())}
	}
	after := &units{maker: before.maker, of: make(map[uint64]*delivery.Unit, len(ws.Items))}
	b := before.maker.Builder()
	b.Max = t.options.MaxTable
	var reader brief.Reader
	read, all := 0, 0
	for _, stored := range ws.Items {
		all += len(stored.Text)
	}
	for _, stored := range ws.SortedByKey() {
		read += len(stored.Text)
		hash := maphash.String(seed, stored.Key) ^ maphash.Bytes(seed, stored.Brief)
		unit, known := before.of[hash]
		if !known {
			document, err := reader.Read(stored.Brief, d.Environment())
			if err != nil {
				document = stored.Read().View
			}
			unit = b.Make(evaluation.Source{Key: stored.Key, Document: document})
		}
		b.Put(unit)
		if after.bytes += unitBytes + unit.Size(); b.Max == 0 || b.Size()+after.bytes <= b.Max {
			after.of[hash] = unit
		}
		t.byName.Weigh(nameOf(d), b.Size()+after.bytes)
		if b.Full() {
			e.units = nil
			return nil, int64(float64(b.Size()) / float64(read) * float64(all))
		}
	}
	before.maker.Keep(b)
	if after.bytes += before.maker.Size(); b.Max > 0 && b.Size()+after.bytes > b.Max {
		after = nil // there is no room for both
	}
	e.units = after
	return b.Table(v.ClientAfter, v.Turns), 0
}

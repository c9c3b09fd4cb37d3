package sdkapi

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/workspace"
)

// tables keeps what is served of the environments that are polled, for the head
// that each was asked for last.
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
	documents state[*documents]
	bytes     atomic.Int64 // about what both take
}

// state is what was made of a commit, or why it is refused.
type state[T sized] struct {
	mu      sync.Mutex
	commit  string
	made    T
	refused error
}

// sized is something that says about how many bytes it takes, also when there
// is none.
type sized interface{ Size() int64 }

// at returns what is made of the delivery's head, for an environment of tables.
func (s *state[T]) at(ctx context.Context, d *control.Delivery, t *tables, e *environment, create func(*workspace.Workspace) T) (made T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head := d.Head().Commit; s.commit != head || head == "" {
		ws, err := d.Documents(ctx)
		if err != nil {
			return made, err
		}
		// What was served before goes first: nobody asks for it any more, and
		// old and new together would be twice the memory.
		before := s.made.Size()
		s.commit, s.made = "", made
		t.tell(ctx, d)
		if s.refused = refusedEnvironment(ws, d.Environment()); s.refused == nil {
			s.made = create(ws)
		}
		s.commit = d.Head().Commit // a forced push may have moved it
		t.byName.Weigh(nameOf(d), environmentBytes+e.bytes.Add(s.made.Size()-before))
	}
	return s.made, s.refused
}

// defaultCacheBytes holds what some 40,000 flags serve.
const defaultCacheBytes = 32 << 20

// environmentBytes is about what an environment takes beside its parts.
const environmentBytes = 512

func newTables(o Options) *tables {
	return &tables{options: o, guard: o.guard(endpoints.Evaluate), byName: lru.New[[2]string, *environment](cmp.Or(o.CacheBytes, defaultCacheBytes)),
		told: lru.New[string, string](toldBytes)}
}

// maxTold bounds what one commit brings into the log.
const maxTold = 20

// toldBytes is for some 1,000 workspaces.
const toldBytes = 256 << 10

// tell has the log say which documents are broken at a new head, and since when.
func (t *tables) tell(ctx context.Context, d *control.Delivery) {
	last, _ := t.told.Get(d.WorkspaceID())
	t.told.Put(d.WorkspaceID(), d.Head().Commit, environmentBytes/2)
	if last == d.Head().Commit || !t.options.TellBroken {
		return
	}
	broken, err := d.Broken(ctx)
	if err != nil {
		return // Documents has found them already, so this is unlikely; the next commit tells
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

// find implements delivery.Tables for public SDK keys.
func (t *tables) find(w http.ResponseWriter, r *http.Request, key string) (*delivery.Table, error) {
	d, err := t.options.open(t.guard, r, endpoints.Evaluate, key)
	if err != nil {
		return nil, t.options.noted(w, r, err)
	}
	e := t.environment(d)
	table, err := e.evaluated.at(r.Context(), d, t, e, func(ws *workspace.Workspace) *delivery.Table { return newTable(ws, d) })
	if err != nil {
		return nil, t.options.noted(w, r, err)
	}
	return table, nil
}

// newTable decodes one document at a time: all of them together would take many
// times the memory of what is served.
func newTable(ws *workspace.Workspace, d *control.Delivery) *delivery.Table {
	b := delivery.NewBuilder(d.Environment(), d.Head().Commit)
	for item := range byKey(ws) {
		b.Add(evaluation.Source{Key: item.Key, Document: item.View})
	}
	return b.Table()
}

// byKey decodes the documents of a workspace one after the other.
func byKey(ws *workspace.Workspace) iter.Seq[*workspace.Item] {
	return func(yield func(*workspace.Item) bool) {
		for _, stored := range slices.SortedStableFunc(slices.Values(ws.Items), func(a, b workspace.Stored) int { return strings.Compare(a.Key, b.Key) }) {
			if !yield(stored.Read()) {
				return
			}
		}
	}
}

package hosted

import (
	"context"
	"sync"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/workspace"
)

// tables keeps what is served of every environment that is polled, for the
// head that it was asked for last.
type tables struct {
	options Options
	gate    gate

	mu     sync.Mutex
	byName map[[2]string]*environment
	told   map[string]string // by workspace: the commit whose broken documents were told
}

// environment is what one environment serves. Each lock is held while its part
// is made, so that a change is worked out once for all who poll.
type environment struct {
	evaluated state[*delivery.Table]
	documents state[*documents]
}

// state is what was made of a commit, or why it is refused.
type state[T any] struct {
	tell    func(ctx context.Context, d *control.Delivery) // of a new commit
	mu      sync.Mutex
	commit  string
	made    T
	refused error
}

// at returns what is made of the delivery's head.
func (s *state[T]) at(ctx context.Context, d *control.Delivery, create func(*workspace.Workspace) (T, error)) (made T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if head := d.Head().Commit; s.commit != head || head == "" {
		ws, err := d.Documents(ctx)
		if err != nil {
			return made, err
		}
		head = d.Head().Commit // a forced push may have moved it
		s.tell(ctx, d)
		if err := refusedEnvironment(ws, d.Environment()); err != nil {
			s.commit, s.made, s.refused = head, made, err
		} else if made, err = create(ws); err != nil {
			return made, err
		} else {
			s.commit, s.made, s.refused = head, made, nil
		}
	}
	return s.made, s.refused
}

func newTables(o Options) *tables {
	return &tables{options: o, gate: newGate(o, o.Polls), byName: map[[2]string]*environment{}, told: map[string]string{}}
}

// mostTold bounds what one commit brings into the log.
const mostTold = 20

// tell has the log say which documents are broken at a new head, and since when.
func (t *tables) tell(ctx context.Context, d *control.Delivery) {
	t.mu.Lock()
	told := t.told[d.WorkspaceID()] == d.Head().Commit
	if len(t.told) >= maxEnvironments {
		clear(t.told)
	}
	t.told[d.WorkspaceID()] = d.Head().Commit
	t.mu.Unlock()
	if told || !t.options.TellBroken {
		return
	}
	broken, err := d.Broken(ctx)
	if err != nil {
		return // Documents has found them already, so this is unlikely; the next commit tells
	}
	for _, b := range broken[:min(len(broken), mostTold)] {
		t.options.Logger.Error(b.Outcome(), "workspace", d.WorkspaceID(), "since", b.Since, "servedFrom", b.ServedFrom, "problem", b.Problems[0].String())
	}
	if more := len(broken) - mostTold; more > 0 {
		t.options.Logger.Error("there are more documents that cannot be served; GET /v1/workspace counts them", "workspace", d.WorkspaceID(), "more", more)
	}
}

// maxEnvironments bounds what an instance remembers. One that serves more at a
// time only works more.
const maxEnvironments = 256

func (t *tables) environment(d *control.Delivery) *environment {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := [2]string{d.WorkspaceID(), d.Environment()}
	e := t.byName[name]
	if e == nil {
		if len(t.byName) >= maxEnvironments {
			for other := range t.byName {
				delete(t.byName, other)
				break
			}
		}
		e = &environment{}
		e.evaluated.tell, e.documents.tell = t.tell, t.tell
		t.byName[name] = e
	}
	return e
}

// find implements delivery.Tables for public SDK keys.
func (t *tables) find(ctx context.Context, key string) (*delivery.Table, error) {
	d, err := t.gate.enter(ctx, publicKey, key)
	if err != nil {
		return nil, t.options.noted(ctx, err)
	}
	table, err := t.environment(d).evaluated.at(ctx, d, func(ws *workspace.Workspace) (*delivery.Table, error) {
		return t.table(ws, d), nil
	})
	if err != nil {
		return nil, t.options.noted(ctx, err)
	}
	return table, nil
}

func (t *tables) table(ws *workspace.Workspace, d *control.Delivery) *delivery.Table {
	sources := make([]evaluation.Source, len(ws.Items))
	for i, item := range ws.Items {
		sources[i] = evaluation.Source{Key: item.Key, Document: item.View}
	}
	return delivery.NewTable(sources, d.Environment(), d.Head().Commit)
}

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
}

// environment is what one environment serves. Each lock is held while its part
// is made, so that a change is worked out once for all who poll.
type environment struct {
	evaluated state[*delivery.Table]
	documents state[*documents]
}

// state is what was made of a commit, or why it is refused.
type state[T any] struct {
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
	return &tables{options: o, gate: newGate(o, o.Polls), byName: map[[2]string]*environment{}}
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

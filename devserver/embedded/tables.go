package embedded

import (
	"context"
	"sync"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
)

// tables keeps the table of every environment that is polled, for the head
// that it was asked for last.
type tables struct {
	plane *control.Plane

	mu     sync.Mutex
	byName map[string]*environment
}

// environment is one environment's table. The lock is held while it is
// compiled, so that a change is compiled once for all who poll.
type environment struct {
	mu     sync.Mutex
	commit string
	table  *delivery.Table
}

func newTables(plane *control.Plane) *tables {
	return &tables{plane: plane, byName: map[string]*environment{}}
}

// find implements delivery.Tables for SDK keys.
func (t *tables) find(ctx context.Context, key string) (*delivery.Table, error) {
	if key == "" {
		return nil, fault.New(fault.Unauthorized, "send a public SDK key (svc_pk_…), as Authorization: Basic base64(1:<key>)")
	}
	d, err := t.plane.Deliver(ctx, key)
	if err != nil {
		return nil, err
	}
	if d.Key().Kind != access.KindPublicSDK {
		return nil, fault.New(fault.Unauthorized, "evaluation for browsers and OpenFeature takes a public SDK key (svc_pk_…); this is a secret one, which must not leave a server")
	}
	e := t.environment(d.WorkspaceID() + "/" + d.Environment())
	e.mu.Lock()
	defer e.mu.Unlock()
	if head := d.Head().Commit; e.table == nil || e.commit != head {
		ws, err := d.Documents(ctx)
		if err != nil {
			return nil, err
		}
		e.table, e.commit = delivery.NewTable(directory.Sources(ws), d.Environment(), head), head
	}
	return e.table, nil
}

func (t *tables) environment(name string) *environment {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byName[name]
	if e == nil {
		e = &environment{}
		t.byName[name] = e
	}
	return e
}

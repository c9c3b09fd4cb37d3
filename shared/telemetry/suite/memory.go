package suite

import (
	"context"
	"slices"
	"sync"

	"svc.example/svc/shared/telemetry"
)

// Memory is a store in memory.
type Memory struct {
	mu      sync.Mutex
	records int
	rooms   map[string]*room
}

type room struct {
	batches  map[[32]byte]bool
	groups   map[[2]string]bool
	pairs    map[telemetry.Pair]bool
	contexts map[[3]string]telemetry.Saved
	shapes   map[string]*telemetry.KnownShape
}

// NewMemory makes one.
func NewMemory() *Memory { return &Memory{rooms: map[string]*room{}} }

// Records is how often Record was called.
func (m *Memory) Records() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records
}

func (m *Memory) enter(ctx context.Context, workspace string) (*room, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := m.rooms[workspace]
	if r == nil {
		r = &room{map[[32]byte]bool{}, map[[2]string]bool{}, map[telemetry.Pair]bool{}, map[[3]string]telemetry.Saved{}, map[string]*telemetry.KnownShape{}}
		m.rooms[workspace] = r
	}
	return r, nil
}

// Record implements telemetry.Store.
func (m *Memory) Record(ctx context.Context, workspace string, b telemetry.Batch) (counted int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records++
	r, err := m.enter(ctx, workspace)
	if err != nil || r.batches[b.ID] {
		return 0, err
	}
	r.batches[b.ID] = true
	for _, p := range b.Pairs {
		if !r.pairs[p] {
			r.pairs[p] = true
			counted++
		}
	}
	for _, c := range b.Contexts {
		if g := [2]string{c.Environment, c.Type}; !r.groups[g] {
			if len(r.groups) >= telemetry.MaxGroups {
				continue
			}
			r.groups[g] = true
		}
		id := [3]string{c.Environment, c.Type, c.Key}
		if old, there := r.contexts[id]; !there || c.Supersedes(old.Sighting()) {
			r.contexts[id] = c
		}
	}
	for _, s := range b.Shapes {
		if r.shapes[s.Type] == nil {
			if len(r.shapes) >= telemetry.MaxShapeTypes {
				continue
			}
			r.shapes[s.Type] = &telemetry.KnownShape{Type: s.Type, Fields: map[string][]telemetry.Kind{}}
		}
		r.shapes[s.Type].Join(s)
	}
	return counted, nil
}

// Contexts implements telemetry.Store.
func (m *Memory) Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return nil, err
	}
	var found []telemetry.Saved
	matcher := q.Matcher()
	for _, c := range r.contexts {
		if matcher.Match(c) {
			found = append(found, c)
		}
	}
	return telemetry.Newest(found, q.Limit), nil
}

// Shapes implements telemetry.Store.
func (m *Memory) Shapes(ctx context.Context, workspace string) ([]telemetry.KnownShape, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return nil, err
	}
	list := []telemetry.KnownShape{}
	for _, s := range r.shapes {
		fields := map[string][]telemetry.Kind{}
		for name, kinds := range s.Fields {
			fields[name] = slices.Clone(kinds)
		}
		list = append(list, telemetry.KnownShape{Type: s.Type, Fields: fields})
	}
	return telemetry.SortShapes(list), nil
}

// Usage implements telemetry.Store.
func (m *Memory) Usage(ctx context.Context, workspace string, month telemetry.Month) (telemetry.Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return telemetry.Usage{}, err
	}
	counts := map[string]int{}
	for p := range r.pairs {
		if p.Month == month {
			counts[p.Type]++
		}
	}
	return telemetry.NewUsage(month, counts), nil
}

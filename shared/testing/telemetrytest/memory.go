package telemetrytest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

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
	groups   map[[2]string]int // when each was last in a batch
	types    map[string]int    // the same of types that have a shape
	hour     int64
	news     map[bool]telemetry.Hourly // keys and types that were new in the hour, with secret keys or not
	pairs    map[telemetry.Pair]bool
	gone     map[telemetry.Pair]int  // pairs that were forgotten, without their keys
	beyond   map[telemetry.Month]int // pairs that were not counted
	contexts map[[3]string]telemetry.Saved
	shapes   map[string]*telemetry.KnownShape

	evaluated   telemetry.Evaluated
	evaluations map[evaluatedOn]*telemetry.Tally
}

type evaluatedOn struct {
	environment, key string
	day              telemetry.Day
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
		r = &room{batches: map[[32]byte]bool{}, groups: map[[2]string]int{}, types: map[string]int{}, pairs: map[telemetry.Pair]bool{}, gone: map[telemetry.Pair]int{}, beyond: map[telemetry.Month]int{},
			contexts: map[[3]string]telemetry.Saved{}, shapes: map[string]*telemetry.KnownShape{}, evaluations: map[evaluatedOn]*telemetry.Tally{}}
		m.rooms[workspace] = r
	}
	return r, nil
}

// Record implements telemetry.Store.
func (m *Memory) Record(ctx context.Context, workspace string, b telemetry.Batch) (done telemetry.Recorded, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records++
	r, err := m.enter(ctx, workspace)
	if err != nil || r.batches[b.ID] {
		return done, err
	}
	b = b.Without(func(id [32]byte) bool { return r.batches[id] })
	for _, id := range b.IDs() {
		r.batches[id] = true
	}
	if r.hour != b.Hour() || r.news == nil {
		r.hour, r.news = b.Hour(), map[bool]telemetry.Hourly{}
	}
	news := telemetry.Hourly{Keys: r.news[b.Secret].Keys, Types: r.news[b.Secret].Types}
	for _, c := range b.Contexts {
		r.save(c, len(r.batches), &news)
	}
	counted := 0
	for _, p := range b.Pairs {
		switch {
		case r.pairs[p]:
		case news.Beyond(p):
			r.beyond[p.Month]++
		default:
			r.pairs[p] = true
			counted++
		}
	}
	for _, s := range b.Shapes {
		r.join(s, len(r.batches), &news)
	}
	r.news[b.Secret] = news
	for _, e := range b.AllEvaluations() {
		at := evaluatedOn{e.Environment, e.Key, telemetry.DayOf(e.At)}
		if r.evaluations[at] == nil {
			r.evaluations[at] = &telemetry.Tally{}
		}
		r.evaluations[at].Add(e)
	}
	if r.evaluated.See(b.AllEvaluations()) {
		r.evaluated.Version++
	}
	return news.Recorded(counted), nil
}

func (r *room) save(c telemetry.Saved, now int, news *telemetry.Hourly) {
	id, group := [3]string{c.Environment, c.Type, c.Key}, [2]string{c.Environment, c.Type}
	old, there := r.contexts[id]
	if _, known := r.groups[group]; !news.TakeContext(c, !there, !known) {
		return
	}
	r.groups[group] = now
	ofEnvironment := map[string]int{}
	for g, seen := range r.groups {
		if g[0] == c.Environment {
			ofEnvironment[g[1]] = seen
		}
	}
	if len(ofEnvironment) > telemetry.MaxGroups {
		gone := oldest(ofEnvironment)
		delete(r.groups, [2]string{c.Environment, gone})
		maps.DeleteFunc(r.contexts, func(id [3]string, _ telemetry.Saved) bool { return id[0] == c.Environment && id[1] == gone })
	}
	if !there || c.Supersedes(old.Version()) {
		r.contexts[id] = c
	}
}

func (r *room) join(s telemetry.KnownShape, now int, news *telemetry.Hourly) {
	if r.shapes[s.Type] == nil && !news.TakeType(s.Type) {
		return
	}
	r.types[s.Type] = now
	if len(r.types) > telemetry.MaxShapeTypes {
		gone := oldest(r.types)
		delete(r.types, gone)
		delete(r.shapes, gone)
	}
	if r.shapes[s.Type] == nil {
		r.shapes[s.Type] = &telemetry.KnownShape{Type: s.Type, Fields: map[string][]telemetry.Kind{}}
	}
	r.shapes[s.Type].Join(s)
}

// oldest is the type that was longest in no batch; of several, the first by
// name, as in every store.
func oldest(seen map[string]int) string {
	return slices.MinFunc(slices.Collect(maps.Keys(seen)), func(a, b string) int {
		return cmp.Or(cmp.Compare(seen[a], seen[b]), strings.Compare(a, b))
	})
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

// Walk implements telemetry.Store.
func (m *Memory) Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) bool) error {
	m.mu.Lock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	order := func(a, b telemetry.Saved) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), b.LastSeen.Compare(a.LastSeen), strings.Compare(b.Key, a.Key))
	}
	var list []telemetry.Saved
	for _, c := range r.contexts {
		if c.Environment == w.Environment && (w.After == nil || order(*w.After, c) < 0) {
			list = append(list, c)
		}
	}
	m.mu.Unlock()
	slices.SortFunc(list, order)
	for i, c := range list {
		if w.Limit > 0 && i == w.Limit || !visit(c) {
			break
		}
	}
	return nil
}

// Forget implements telemetry.Store.
func (m *Memory) Forget(ctx context.Context, workspace string, _ []string, contextType, key string, _ time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return false, err
	}
	before := len(r.contexts) + len(r.pairs)
	maps.DeleteFunc(r.contexts, func(id [3]string, _ telemetry.Saved) bool { return id[1] == contextType && id[2] == key })
	for p := range r.pairs {
		if p.Type == contextType && p.Key == key {
			delete(r.pairs, p)
			r.gone[telemetry.Pair{Month: p.Month, Type: p.Type}]++
		}
	}
	return len(r.contexts)+len(r.pairs) < before, nil
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
	for p, n := range r.gone {
		if p.Month == month {
			counts[p.Type] += n
		}
	}
	return telemetry.NewUsage(month, counts, r.beyond[month]), nil
}

// Evaluations implements telemetry.Store.
func (m *Memory) Evaluations(ctx context.Context, workspace, key string, first, last telemetry.Day) (map[string][]telemetry.EvaluatedDay, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return nil, err
	}
	found := map[string][]telemetry.EvaluatedDay{}
	for at, tally := range r.evaluations {
		if at.key == key && first <= at.day && at.day <= last {
			copied := *tally
			copied.Values = maps.Clone(tally.Values)
			found[at.environment] = telemetry.NewestDays(append(found[at.environment], telemetry.EvaluatedDay{Day: at.day, Tally: copied}))
		}
	}
	return found, nil
}

// Evaluated implements telemetry.Store.
func (m *Memory) Evaluated(ctx context.Context, workspace string) (*telemetry.Evaluated, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.enter(ctx, workspace)
	if err != nil {
		return nil, err
	}
	e := r.evaluated
	e.Days = maps.Clone(e.Days)
	return &e, nil
}

package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
)

// Intake takes reports in. Store and Now are needed.
type Intake struct {
	Store Store
	Now   func() time.Time
	// Logger is told when more is new than is taken; nil is silent.
	Logger *slog.Logger

	told sync.Map // the hour of the last warning, by workspace and what was too much
}

// Source is where a report comes from, as its SDK key says.
type Source struct {
	Workspace, Environment string
	// Items tells which evaluations are counted, and is asked when there are any;
	// nil: none are.
	Items func(ctx context.Context) (Items, error)
	// Secret says that the key is a secret one, whose holder is believed about what it
	// passes on, and of which new keys and types are counted apart. Anybody with a public key
	// could make up as many as they like.
	Secret bool
}

// Receipt is the answer to a report that was taken. It tells nothing that is
// not in the report.
type Receipt struct {
	Accepted bool `json:"accepted"`
	Contexts int  `json:"contexts"` // with a key: saved and counted
	Keyless  int  `json:"keyless"`  // without one: their shape was noted
	TooOld   int  `json:"tooOld"`   // examples of a month that is closed
	Shapes   int  `json:"shapes"`
	Unknown  int  `json:"unknownEvents"` // of a kind that is not known here: passed over
	// Counters are those of evaluations that were read, whether or not the workspace has
	// the items.
	Counters int `json:"counters,omitempty"`
}

// Take takes a body in. What is wrong with it is a fault that lists all of it.
// Enter, if it is not nil, is called when the body has been decoded, and may wait
// or refuse before the store is asked; leave is called after that.
func (i *Intake) Take(ctx context.Context, from Source, body []byte, enter func(context.Context) (leave func(), err error)) (Receipt, error) {
	report, issues := Decode(body)
	if len(issues) > 0 {
		kind := fault.BadRequest
		if len(body) > MaxBody {
			kind = fault.PayloadTooLarge
		}
		return Receipt{}, fault.New(kind, "nothing of the batch was taken: %s", jsontree.InWords(issues)).With(map[string]any{"issues": issues})
	}
	now := i.Now().UTC().Truncate(time.Millisecond)
	if enter != nil {
		leave, err := enter(ctx)
		if err != nil {
			return Receipt{}, err
		}
		defer leave()
	}
	b, receipt, err := newBatch(ctx, report, from, body, now)
	if err != nil {
		return Receipt{}, err
	}
	recorded, err := i.Store.Record(ctx, from.Workspace, b)
	if err != nil {
		return Receipt{}, Fault(err)
	}
	i.tellBeyond(from.Workspace, b.Hour(), recorded)
	if recorded.Behind != nil && i.Logger != nil {
		i.Logger.Warn("evaluations wait to be counted with a later batch", "workspace", from.Workspace, "cause", recorded.Behind)
	}
	return receipt, nil
}

// tellBeyond warns, of keys and of types once an hour, that a workspace has more that is
// new than is taken.
func (i *Intake) tellBeyond(workspace string, hour int64, done Recorded) {
	for what, n := range map[string]int{"keys": done.Unsaved, "types": done.Types} {
		if n == 0 || i.Logger == nil {
			continue
		}
		if told, _ := i.told.Swap([2]string{workspace, what}, hour); told != hour {
			i.Logger.Warn("more new context "+what+" than are taken in an hour: contexts of the rest cannot be searched for and are not among the keys of the month; how often they came is",
				"workspace", workspace, "atMost", map[string]int{"keys": MaxNewKeys, "types": MaxNewTypes}[what])
		}
	}
}

// Fault puts a store's failure in words for a client.
func Fault(err error) error {
	if errors.Is(err, ErrBusy) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, "the telemetry store did not answer in time; the request can be repeated").Because(err)
	}
	if fault.IsFullDisk(err) {
		return fault.New(fault.Unavailable, fault.FullDisk).Because(err)
	}
	return fault.Of(err)
}

// MaxSkew is how far a sender's clock may be off before it is corrected.
const MaxSkew = 5 * time.Minute

// batcher turns a report into a batch.
type batcher struct {
	environment string
	now         time.Time
	shift       time.Duration
	pairs       map[Pair]bool
	contexts    map[[2]string]Saved // by type and key
	shapes      map[string]*KnownShape
	receipt     Receipt
}

func newBatch(ctx context.Context, report Report, from Source, body []byte, now time.Time) (Batch, Receipt, error) {
	m := batcher{environment: from.Environment, now: now, pairs: map[Pair]bool{}, contexts: map[[2]string]Saved{}, shapes: map[string]*KnownShape{}}
	if off := now.Sub(report.SentAt); !report.SentAt.IsZero() && (off > MaxSkew || off < -MaxSkew) {
		m.shift = off
	}
	for _, example := range report.Examples {
		m.example(example)
	}
	for _, s := range report.Shapes {
		m.shape(s)
	}
	own, reports, err := m.reports(ctx, report, from)
	if err != nil {
		return Batch{}, Receipt{}, err
	}
	var shapes []KnownShape
	for _, name := range slices.Sorted(maps.Keys(m.shapes)) {
		shapes = append(shapes, *m.shapes[name])
	}
	m.receipt.Accepted, m.receipt.Unknown = true, report.Unknown
	m.receipt.Contexts, m.receipt.Shapes, m.receipt.Counters = len(m.contexts), len(m.shapes), len(report.Counters)
	return Batch{
		ID: report.Identity(from.Workspace, from.Environment, body), Received: now, Secret: from.Secret && !report.Public,
		Pairs: slices.SortedStableFunc(maps.Keys(m.pairs), func(a, b Pair) int {
			return slices.Compare([]string{string(a.Month), a.Type, a.Key}, []string{string(b.Month), b.Type, b.Key})
		}),
		Contexts: slices.SortedStableFunc(maps.Values(m.contexts), func(a, b Saved) int {
			return slices.Compare([]string{a.Type, a.Key}, []string{b.Type, b.Key})
		}),
		Shapes:      shapes,
		Evaluations: own,
		Reports:     reports,
	}, m.receipt, nil
}

func (m *batcher) example(e Example) {
	seen, fresh := m.seen(e.At)
	if !fresh {
		m.receipt.TooOld++
		return
	}
	for _, c := range e.Contexts {
		shape := KnownShape{c.Type, map[string][]Kind{}}
		for _, p := range c.Properties {
			shape.Fields[p.Name] = []Kind{p.Kind}
		}
		m.shape(shape)
		if c.Key == "" {
			m.receipt.Keyless++
			continue
		}
		m.pairs[Pair{MonthOf(seen), c.Type, c.Key}] = true
		saved := Saved{m.environment, c.Type, c.Key, seen, kept(c.Properties)}
		id := [2]string{c.Type, c.Key}
		if earlier, known := m.contexts[id]; !known || saved.Supersedes(earlier.Version()) {
			m.contexts[id] = saved
		}
	}
}

// seen is when an example was seen by our clock, and whether that still counts.
func (m *batcher) seen(at time.Time) (time.Time, bool) {
	if at.IsZero() {
		return m.now, true
	}
	if at = at.Add(m.shift); at.After(m.now) {
		at = m.now
	}
	month, now := MonthOf(at), MonthOf(m.now)
	return at, month == now || MonthOf(month.End()) == now && month.Open(m.now)
}

// shape joins a shape with those of the batch.
func (m *batcher) shape(s KnownShape) {
	known := m.shapes[s.Type]
	if known == nil {
		known = &KnownShape{Type: s.Type, Fields: map[string][]Kind{}}
		m.shapes[s.Type] = known
	}
	known.Join(s)
}

const (
	// maxSavedBytes is how much text of a context is kept.
	maxSavedBytes = 8 << 10
	// maxSavedText is how much of a text is kept.
	maxSavedText = 512
)

// kept is what is saved of a context's properties: all of most contexts, and a
// bounded part of a large one, with its key and what it is found by first.
func kept(properties []Property) []Property {
	sorted := slices.Clone(properties)
	rank := func(name string) int { return slices.Index([]string{"email", "name", keyProperty}, name) }
	slices.SortStableFunc(sorted, func(a, b Property) int {
		return cmp.Or(rank(b.Name)-rank(a.Name), strings.Compare(a.Name, b.Name))
	})
	left := maxSavedBytes
	out := sorted[:0]
	for _, p := range sorted {
		size := len(p.Name)
		if p.Name != keyProperty {
			p.Text = cut(p.Text, maxSavedText)
		}
		var list []string
		for _, item := range p.List {
			list = append(list, cut(item, maxSavedText))
			size += min(len(item), maxSavedText)
		}
		p.List = list
		if size += len(p.Text); size > left {
			continue
		}
		left -= size
		out = append(out, p)
	}
	return out
}

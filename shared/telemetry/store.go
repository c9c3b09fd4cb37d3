package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/table"
)

// What a store keeps and searches.
const (
	// MaxSaved is how many contexts of an environment and a type are kept, at
	// least: those seen last.
	MaxSaved = 10_000
	// MaxSearched is how many contexts a search looks at, at least: those seen
	// last of all that its environment and type leave.
	MaxSearched = 20_000
	// MaxNewKeys is how many contexts that are not saved yet a workspace takes
	// in an hour, by the receiver's clock. Of others, and of their
	// pairs, nothing is stored but how often they came.
	MaxNewKeys = 10_000
	// MaxNewTypes is how many types of context a workspace takes in an hour that
	// have no contexts in their environment yet, or no shape. Of others nothing is
	// stored, as of new keys. Anybody with a public key can make types up: were it
	// not for this, one batch of them would drive out all that are in use. Both
	// bounds are for batches of public keys, and for those of secret keys, apart.
	MaxNewTypes = 50
	// MaxGroups is how many types of context an environment has contexts of.
	// When another one comes, the one that was longest in no batch makes room:
	// no clock of a client decides it.
	MaxGroups = 200
	// MaxShapeTypes is how many types of context have a shape; the one that was
	// longest in no batch makes room. MaxFields is how many properties a shape
	// has.
	MaxShapeTypes = 200
	MaxFields     = 500
	// ContextDays is how many days a context is kept after it was last seen, by default.
	ContextDays = 90
	// Remembered is how long a batch is known again, while no more than
	// MaxBatches come in that time: a store on a disk remembers the last ones.
	Remembered = 24 * time.Hour
	MaxBatches = 100_000
)

// ErrBusy: the store did not answer in time. What was asked can be repeated. It is the
// table's, so that stores in tables need not translate.
var ErrBusy = table.ErrBusy

// Store keeps the telemetry of workspaces. Its methods may be called at once,
// and several processes may share what lies behind it.
type Store interface {
	// Record applies a batch; when it fails it may be repeated, whatever has
	// been applied of it. A batch whose ID it remembers changes nothing.
	//
	//  - A pair is counted once in its month, which is open when the batch is
	//    received. One of a context that is beyond MaxNewKeys or MaxNewTypes is
	//    not counted, unless it was before; that it came is.
	//  - A context takes the place of the saved one of its environment, type
	//    and key when it supersedes it.
	//  - A shape is joined with the one known of its type.
	//  - Evaluations are counted at most once, and may be EvaluationsLate; see there.
	//    They are of items that the workspace has. Those of a report that is remembered,
	//    or was a batch of its own, are not counted again.
	//
	// What a workspace keeps is bounded: see the constants.
	Record(ctx context.Context, workspace string, b Batch) (Recorded, error)
	// Contexts finds saved contexts, most recently seen first.
	Contexts(ctx context.Context, workspace string, q Query) ([]Saved, error)
	// Walk visits the saved contexts of an environment, until there are no more or
	// visit says so: type by type in the order of their names, of each type those seen
	// last first. Others may be reported meanwhile: nothing is held while visit runs,
	// and a context that is seen again then may be left out.
	Walk(ctx context.Context, workspace string, w Walk, visit func(Saved) (more bool)) error
	// Forget deletes whatever is kept of a pair of context type and key, in all
	// environments, and reports whether there was anything: its contexts, and what tells
	// that the pair was counted in a month that is open. The counts stay; who comes
	// back is counted again. Environments are those of the workspace, which the store
	// may not know all of; now is the store's clock.
	Forget(ctx context.Context, workspace string, environments []string, contextType, key string, now time.Time) (found bool, err error)
	// Shapes lists what is known of the properties of each type of context, by the types.
	Shapes(ctx context.Context, workspace string) ([]KnownShape, error)
	// Evaluations are the counts of an item, by environment, from one day to another,
	// newest first. Days and environments without any are not there.
	Evaluations(ctx context.Context, workspace, key string, first, last Day) (map[string][]EvaluatedDay, error)
	// Evaluated tells on which day items were evaluated last, in any environment. As
	// long as nothing changes, it may be a minute old.
	Evaluated(ctx context.Context, workspace string) (*Evaluated, error)
	// Usage is the count of a month; of one that nothing is known of, zero.
	Usage(ctx context.Context, workspace string, month Month) (Usage, error)
}

// Recorded is what a store made of a batch.
type Recorded struct {
	Counted int // pairs that had not been counted before
	Unsaved int // contexts beyond MaxNewKeys
	Types   int // types of context beyond MaxNewTypes
	// Behind is why evaluations wait that were to be counted now; nil for none.
	Behind error
}

// Hour numbers the hour in which a batch is received.
func (b Batch) Hour() int64 { return b.Received.Unix() / 3600 }

// Batch is what a report asks a store to do. Its lists hold nothing twice.
type Batch struct {
	ID       [32]byte
	Received time.Time
	Secret   bool    // it came with a secret key: what is new has a budget of its own
	Pairs    []Pair  // to be counted: of the contexts
	Contexts []Saved // to be saved
	Shapes   []KnownShape
	// Evaluations are to be counted: of one environment, item, value and day once.
	Evaluations []Evaluation
	// Reports came with the batch, at most MaxEvents, each once.
	Reports []Reported
}

// Reported is what is to be counted of a report that a relay passes on, unless the report
// is remembered. From then on it is, as batches are.
type Reported struct {
	ID          [32]byte
	Evaluations []Evaluation
}

// Without is the batch without the reports that are known.
func (b Batch) Without(known func(id [32]byte) bool) Batch {
	b.Reports = slices.DeleteFunc(slices.Clone(b.Reports), func(r Reported) bool { return known(r.ID) })
	return b
}

// IDs are those of the batch and of its reports, by which they are remembered.
func (b Batch) IDs() [][32]byte {
	ids := [][32]byte{b.ID}
	for _, r := range b.Reports {
		ids = append(ids, r.ID)
	}
	return ids
}

// AllEvaluations are the batch's own and those of its reports.
func (b Batch) AllEvaluations() []Evaluation {
	all := slices.Clip(b.Evaluations)
	for _, r := range b.Reports {
		all = append(all, r.Evaluations...)
	}
	return all
}

// Pair is an entity that was seen in a month.
type Pair struct {
	Month     Month
	Type, Key string
}

// Saved is an example context that is kept.
type Saved struct {
	Environment string
	Type, Key   string
	LastSeen    time.Time // to the millisecond, UTC
	Properties  []Property
}

// Supersedes reports whether a context takes the place of an earlier one of the
// same environment, type and key, by its version.
func (s Saved) Supersedes(earlier ContextVersion) bool {
	now := s.Version()
	return cmp.Or(now.Seen.Compare(earlier.Seen), bytes.Compare(now.Digest[:], earlier.Digest[:])) > 0
}

// ContextVersion identifies a state of a saved context, and orders the states: of two that
// were seen in one millisecond the same one wins, in whatever order they arrive.
type ContextVersion struct {
	Seen   time.Time
	Digest [sha256.Size]byte // of the properties
}

// Version is the context's.
func (s Saved) Version() ContextVersion {
	text, _ := json.Marshal(s.Properties) // of strings and numbers: it cannot fail
	return ContextVersion{s.LastSeen, sha256.Sum256(text)}
}

// Text is the text of a property that is a string, or "".
func (s Saved) Text(name string) string {
	for _, p := range s.Properties {
		if p.Name == name && p.Kind == String {
			return p.Text
		}
	}
	return ""
}

// KnownShape is what is known of a type's properties: the kinds that each was
// seen with, in ascending order.
type KnownShape struct {
	Type   string            `json:"type"`
	Fields map[string][]Kind `json:"fields"`
}

// Join adds what another knows of the same type, and reports whether that was
// news. Beyond MaxFields no property is added.
func (k *KnownShape) Join(other KnownShape) bool {
	news := false
	for _, name := range slices.Sorted(maps.Keys(other.Fields)) {
		for _, kind := range other.Fields[name] {
			kinds, known := k.Fields[name]
			at, found := slices.BinarySearch(kinds, kind)
			if found || !known && len(k.Fields) >= MaxFields {
				continue
			}
			if k.Fields == nil {
				k.Fields = map[string][]Kind{}
			}
			k.Fields[name] = slices.Insert(slices.Clone(kinds), at, kind)
			news = true
		}
	}
	return news
}

// Usage is the count of a month.
type Usage struct {
	Month Month       `json:"month"`
	Keys  int         `json:"keys"`  // distinct pairs of type and key: MTK
	Types []TypeUsage `json:"types"` // at most MaxListedTypes, those with the most keys
	// OtherTypes is how many types have fewer keys than those.
	OtherTypes int `json:"otherTypes,omitempty"`
	// NotCounted is how often a pair came of which nothing was stored, because its
	// context was beyond MaxNewKeys or MaxNewTypes: there are at most so many more
	// keys.
	NotCounted int `json:"notCounted"`
}

// OtherKeys is how many keys are of types that are not listed.
func (u Usage) OtherKeys() int {
	keys := u.Keys
	for _, t := range u.Types {
		keys -= t.Keys
	}
	return keys
}

// TypeUsage is the count of a type of context.
type TypeUsage struct {
	Type string `json:"type"`
	Keys int    `json:"keys"`
}

// MaxListedTypes is how many types of context a month's usage lists: made-up types
// may be MaxNewTypes in each of its hours.
const MaxListedTypes = 1000

// NewUsage adds the counts of types up; the largest come first.
func NewUsage(month Month, counts map[string]int, notCounted int) Usage {
	u := Usage{Month: month, Types: []TypeUsage{}, NotCounted: notCounted}
	for name, keys := range counts {
		u.Keys += keys
		u.Types = append(u.Types, TypeUsage{name, keys})
	}
	slices.SortStableFunc(u.Types, func(a, b TypeUsage) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), strings.Compare(a.Type, b.Type))
	})
	if u.OtherTypes = max(0, len(u.Types)-MaxListedTypes); u.OtherTypes > 0 {
		u.Types = u.Types[:MaxListedTypes]
	}
	return u
}

// Query narrows a search; what is empty does not.
type Query struct {
	Environment string
	Type        string
	// Key is the whole key. What has it is found whenever it was seen, as long as
	// it is saved.
	Key string
	// Text is looked for in the key and in the text properties, ignoring case.
	Text  string
	Limit int
}

// Enough reports whether no find that was last seen at next, or before it, can come into
// the answer: of those seen at one moment the order is another than a store's.
func (q Query) Enough(found []Saved, next time.Time) bool {
	return len(found) >= q.Limit && found[q.Limit-1].LastSeen.After(next)
}

// Walk says which saved contexts are visited.
type Walk struct {
	Environment string
	// After is the context that the walk goes on after, by its type, key and
	// LastSeen; nil for its begin.
	After *Saved
	Limit int // how many contexts at most; 0 for all
}

// Group reports whether contexts of an environment and a type may match.
func (q Query) Group(environment, contextType string) bool {
	return (q.Environment == "" || q.Environment == environment) && (q.Type == "" || q.Type == contextType)
}

// Match reports whether a context matches.
func (q Query) Match(s Saved) bool {
	text := strings.ToLower(q.Text)
	in := func(value string) bool { return strings.Contains(strings.ToLower(value), text) }
	return q.Group(s.Environment, s.Type) && (q.Key == "" || q.Key == s.Key) && (text == "" || in(s.Key) ||
		slices.ContainsFunc(s.Properties, func(p Property) bool {
			return p.Kind == String && in(p.Text) || p.Kind == StringList && slices.ContainsFunc(p.List, in)
		}))
}

// Newest puts contexts in the order of a search's answer and takes the first
// ones.
func Newest(found []Saved, limit int) []Saved {
	slices.SortStableFunc(found, func(a, b Saved) int {
		return cmp.Or(b.LastSeen.Compare(a.LastSeen), strings.Compare(a.Type, b.Type),
			strings.Compare(a.Key, b.Key), strings.Compare(a.Environment, b.Environment))
	})
	return found[:min(len(found), limit)]
}

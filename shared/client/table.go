package client

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
)

// table is one state of a workspace in one environment, compiled and resolved.
// But for its counters it never changes.
type table struct {
	version, environment, workspace string

	snapshot *evaluation.Snapshot
	index    map[string]int // key to item
	items    []item
	answers  []answer
	levels   []int // the items that are log levels
	timed    bool  // some rule looks at the time

	levelsSaid atomic.Bool // that none of levels applies
}

// item is a flag, a config or a log level.
type item struct {
	key       string
	id        string
	kind      document.Type
	valueType document.ValueType
	digest    uint64 // of the document, to tell what changed
}

// answer is one value that an item can serve.
type answer struct {
	sealed *sealed // the value is encrypted; value says nothing then
	value
	item    int
	reason  evaluation.Reason
	list    evaluation.RuleSource
	rule    int // in the list
	arm     int
	variant string
	served  atomic.Int64 // how often, since telemetry last asked
}

// origin is what a source found.
type origin struct {
	version, environment, workspace string
	sources                         []evaluation.Source
	digests                         map[string]uint64 // by key
}

func newTable(from origin, o Options) *table {
	t := &table{version: from.version, environment: from.environment, workspace: from.workspace, index: map[string]int{}}
	var content evaluation.Content
	t.snapshot, content = evaluation.Compile(from.sources, from.environment)
	t.timed = t.snapshot.Phase(math.MinInt64) != t.snapshot.Phase(math.MaxInt64)
	for i, source := range content.Items {
		t.index[source.Key] = i
		doc := source.Document
		t.items = append(t.items, item{source.Key, cmp.Or(doc.ID, source.Key), doc.Type, doc.ValueType, from.digests[source.Key]})
		if doc.Type == document.LogLevel {
			t.levels = append(t.levels, i)
		}
	}
	t.answers = make([]answer, len(content.Answers))
	var variants evaluation.Variants // of the item whose answers come one after the other
	for i, a := range content.Answers {
		out, doc := &t.answers[i], content.Items[a.Item].Document
		out.item, out.reason, out.list, out.rule, out.arm = a.Item, a.Reason, a.RuleSource, a.RuleIndex, a.ArmIndex
		if i == 0 || a.Item != content.Answers[i-1].Item {
			variants = evaluation.VariantsOf(doc)
		}
		out.variant = variants.Of(&a)
		switch {
		case a.Value.DecryptWith != "":
			text, _ := a.Value.Content.Text()
			out.sealed = &sealed{kind: a.Value.Type, item: t.items[a.Item].key, with: a.Value.DecryptWith, ciphertext: text, opened: map[*value]*value{}}
		case a.Value.Type == document.ProvidedValue:
			out.value = provided(a.Value, doc.ValueType, o)
		default:
			out.value = stored(a.Value)
		}
	}
	return t
}

// maxUnresolved is how many values one warning names.
const maxUnresolved = 10

// unresolved says which values there is nothing to serve for, and why.
func (t *table) unresolved() string {
	var lines []string
	for i := range t.answers {
		if a := &t.answers[i]; a.err != nil {
			lines = append(lines, t.items[a.item].key+": "+a.err.Message)
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if more := len(lines) - maxUnresolved; more > 0 {
		lines = append(lines[:maxUnresolved], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// differences are the keys whose documents are not the same in two tables.
func (t *table) differences(before *table) []string {
	var keys []string
	for _, i := range t.items {
		if old, was := before.index[i.key]; !was || before.items[old].digest != i.digest {
			keys = append(keys, i.key)
		}
	}
	for _, i := range before.items {
		if _, is := t.index[i.key]; !is {
			keys = append(keys, i.key)
		}
	}
	slices.Sort(keys)
	return keys
}

var digestSeed = maphash.MakeSeed()

func digest(text []byte) uint64 { return maphash.Bytes(digestSeed, text) }

// sealed is an encrypted value. What it opens to depends on the key, and which
// key that is may depend on the context.
type sealed struct {
	kind       document.ValueType
	item       string // that holds the value
	with       string // the config that holds the key
	ciphertext string

	mu     sync.Mutex
	opened map[*value]*value // by the key
}

// maxSeals bounds how often the key to a value may itself be encrypted.
const maxSeals = 4

// tooDeep stands for a value behind more than maxSeals keys.
var tooDeep = new(value)

// value is what an answer comes to in the context of a frame.
func (t *table) value(n int, f *evaluation.Frame, depth int) *value {
	a := &t.answers[n]
	switch {
	case a.sealed == nil:
		return &a.value
	case depth > maxSeals:
		return tooDeep
	}
	key, found := t.index[a.sealed.with]
	if !found || t.items[key].kind != document.Config { // nothing else holds one, as nobody is asked for the permission to use it
		return a.sealed.fail("there is no such config")
	}
	by := t.snapshot.Evaluate(key, f)
	if by == evaluation.None {
		return a.sealed.fail("it has no value in this context")
	}
	opened := a.sealed.open(t.value(by, f, depth+1))
	if opened == tooDeep && depth == 0 {
		return a.sealed.failed(fmt.Sprintf("it is behind more than %d keys that are encrypted themselves, or decryptWith is a cycle", maxSeals))
	}
	return opened
}

// open is the value under a key. What it comes to is kept by the key's own
// value, as another context may have another one.
func (s *sealed) open(key *value) *value {
	switch {
	case key == tooDeep:
		return tooDeep
	case key.err != nil:
		return s.fail(key.err.Message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[key] == nil {
		s.opened[key] = s.decrypt(key)
	}
	return s.opened[key]
}

func (s *sealed) decrypt(key *value) *value {
	if key.kind != document.StringValue {
		return s.fail("it is not a string")
	}
	plain, err := Decrypt(key.text, s.item, s.ciphertext)
	if err != nil {
		return s.fail(err.Error())
	}
	out := fromText(s.kind, plain)
	return &out
}

func (s *sealed) fail(why string) *value {
	return s.failed("the config " + s.with + " does not open it: " + why)
}

func (s *sealed) failed(why string) *value {
	return &value{kind: s.kind, secret: true, err: &Error{Code: General, Message: "the value is encrypted, and " + why}}
}

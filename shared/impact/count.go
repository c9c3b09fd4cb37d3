package impact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/murmur3"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

const (
	// MaxExamples is how many contexts are given as examples.
	MaxExamples = 10
	// MaxValues is how many values are told: those that most contexts go to.
	MaxValues = 1000
	// maxCounted bounds how many are counted to find these.
	maxCounted = 100_000
)

// Environment is what a change does to the contexts of an environment.
type Environment struct {
	Contexts int `json:"contexts"` // that were looked at
	Changed  int `json:"changed"`  // of them, how many are served something else
	// Chance is for how many chance decides, before or after: they have nothing that a split
	// could go by. What they are served so counts as no change.
	Chance   int  `json:"chance,omitempty"`
	Complete bool `json:"complete"` // these are all
	// Values are what changes, that of most contexts first. Truncated says that more
	// does than is told.
	Values    []Value   `json:"values"`
	Truncated bool      `json:"valuesTruncated,omitempty"`
	Examples  []Example `json:"examples"` // contexts that are served something else, at most MaxExamples
}

// Value is one value of an item that another takes the place of.
type Value struct {
	Key string `json:"key"` // of the flag or config
	Switch
	Count int `json:"count"` // of contexts
}

// Switch is a value and the one that takes its place, bare: null where the item is
// not there or serves nothing, and left out where it must not be told.
type Switch struct {
	Before       json.RawMessage `json:"before,omitempty"`
	After        json.RawMessage `json:"after,omitempty"`
	Confidential bool            `json:"confidential,omitempty"` // either is left out
}

// Example is a context that is served another value of an item.
type Example struct {
	Type       string  `json:"type"`
	ContextKey string  `json:"contextKey"`
	Name       *string `json:"name"` // nil for one that says none
	Key        string  `json:"key"`  // of the flag or config
	Switch
}

// Context is somebody that an application evaluates for.
type Context struct {
	Type, Key  string
	Name       *string
	Properties []Property
}

// Property is a property of a named context.
type Property struct {
	Context, Name string
	Value         evaluation.Property
}

// Count counts, in one environment, the contexts that a change changes something
// for. It is used by one goroutine.
type Count struct {
	now           int64
	items         []item
	before, after side
	values        []value          // that items can serve, in either state
	numbers       map[string]int32 // of these values
	rows          map[row]int
	examples      []Example
	exampled      map[row]int
	result        Environment
}

// item is a flag or config that is reached. Its numbers are -1 in a state that does
// not have it.
type item struct {
	key           string
	before, after int
}

// side is one of the two states, compiled.
type side struct {
	snapshot *evaluation.Snapshot
	serves   []int32 // the number of the value of each answer
}

// value is one that items can serve. What must not be told has no text; all such
// values are shown as one.
type value struct {
	text  json.RawMessage
	shown int32
}

// row is what is counted.
type row struct {
	item          int32
	before, after int32 // as they are shown
}

// nothing is the number of null.
const nothing = 0

// ErrTooLarge is the error for a change that takes more memory than there is.
var ErrTooLarge = errors.New("the flags and configs that are reached take too much memory together once they are compiled")

// In compiles what the change reaches in an environment. Now is the time in
// milliseconds since 1970. Beyond most bytes, if that is not 0, it is ErrTooLarge;
// any other error is the context's.
func (c *Change) In(ctx context.Context, environment string, now, most int64) (*Count, error) {
	n := &Count{now: now, numbers: map[string]int32{}, rows: map[row]int{}, exampled: map[row]int{}}
	n.number("null", json.RawMessage("null"))
	keys := c.reached[environment]
	var err error
	if n.before, err = n.compile(ctx, c.before, keys, environment, (most+1)/2); err != nil {
		return nil, err
	}
	if n.after, err = n.compile(ctx, c.after, keys, environment, (most+1)/2); err != nil {
		return nil, err
	}
	for _, key := range keys {
		n.items = append(n.items, item{key, n.before.find(key), n.after.find(key)})
	}
	return n, nil
}

// withAsked are keys in order, with the flags that they ask for, and these.
func (s state) withAsked(keys []string, environment string) []string {
	all, seen := slices.Clone(keys), map[string]bool{}
	for _, key := range keys {
		seen[key] = true
	}
	for i := 0; i < len(all); i++ {
		if s[all[i]] == nil || !workspace.MayAsk(s[all[i]].Text) {
			continue
		}
		for _, flag := range flagsOf(s.read(all[i]), environment) {
			if !seen[flag] {
				seen[flag] = true
				all = append(all, flag)
			}
		}
	}
	slices.Sort(all)
	return all
}

// compile compiles some flags and configs with the segments that they refer to.
func (n *Count) compile(ctx context.Context, from state, keys []string, environment string, most int64) (side, error) {
	units, compiler, made := evaluation.NewUnits(environment), evaluation.NewCompiler(), side{}
	needed, added := map[string]bool{}, map[string]bool{}
	add := func(item *workspace.Item) {
		unit, answers := units.Make(evaluation.Source{Key: item.Key, Document: item.View})
		compiler.Add(unit)
		for i := range answers {
			made.serves = append(made.serves, n.answer(&answers[i].Value))
		}
		for _, segment := range segmentsOf(item.View, environment) {
			needed[segment] = needed[segment] || !added[segment]
		}
	}
	fits := func() error {
		if most > 0 && compiler.Size() > most {
			return ErrTooLarge
		}
		return ctx.Err()
	}
	for _, key := range from.withAsked(keys, environment) {
		if item := from.read(key); isServed(item) {
			add(item)
		}
		if err := fits(); err != nil {
			return made, err
		}
	}
	for more := true; more; {
		more = false
		for key, wanted := range needed {
			if !wanted {
				continue
			}
			needed[key], added[key], more = false, true, true
			if item := from.read(key); isSegment(item) {
				add(item)
			}
			if err := fits(); err != nil {
				return made, err
			}
		}
	}
	made.snapshot = compiler.Snapshot()
	return made, nil
}

// answer numbers a value that an item can serve. Those that are the same have one
// number.
func (n *Count) answer(v *document.Value) int32 {
	content := v.Served()
	switch {
	case v.Secret():
		return n.number(strings.Join([]string{"secret", string(v.Type), v.DecryptWith, content.Canonical()}, "\x00"), nil)
	case content == nil:
		return nothing
	}
	return n.number(content.Canonical(), content.Compact())
}

func (n *Count) number(identity string, text json.RawMessage) int32 {
	number, known := n.numbers[identity]
	if !known {
		number = int32(len(n.values))
		shown := number
		if text == nil {
			if i := slices.IndexFunc(n.values, func(v value) bool { return v.text == nil }); i >= 0 {
				shown = int32(i)
			}
		}
		n.numbers[identity], n.values = number, append(n.values, value{text, shown})
	}
	return number
}

func (s side) find(key string) int {
	if at, found := s.snapshot.Find(key); found {
		return at
	}
	return -1
}

// serves are the numbers of what a frame's context is served.
func (s side) serve(at int, f *evaluation.Frame) int32 {
	if at < 0 {
		return nothing
	}
	answer := s.snapshot.Evaluate(at, f)
	if answer == evaluation.None {
		return nothing
	}
	return s.serves[answer]
}

// frame lays a context out; asked is set once chance has been asked.
func (s side) frame(c *Context, now int64, asked *bool) *evaluation.Frame {
	f := s.snapshot.NewFrame(now, func() float64 {
		*asked = true
		return c.Point()
	})
	for i := range c.Properties {
		p := &c.Properties[i]
		if slot := f.Slot([]byte(p.Context), []byte(p.Name)); slot >= 0 {
			f.Put(slot, p.Value)
		}
	}
	return f
}

// Point is where a context falls in splits that have nothing of it to hash, in
// [0, 1).
func (c *Context) Point() float64 {
	return float64(murmur3.StringSum32(c.Type+"\x00"+c.Key)) / (1 << 32)
}

// Add evaluates a context in both states.
func (n *Count) Add(c *Context) {
	var asked bool
	before, after := n.before.frame(c, n.now, &asked), n.after.frame(c, n.now, &asked)
	n.result.Contexts++
	changed, chance, example := false, false, row{item: -1}
	for i := range n.items {
		was, is := n.before.serve(n.items[i].before, before), n.after.serve(n.items[i].after, after)
		if asked { // what it decided of segments and flags is not taken for others
			before.Release()
			after.Release()
			asked, chance = false, true
			before, after = n.before.frame(c, n.now, &asked), n.after.frame(c, n.now, &asked)
			continue
		}
		if was == is {
			continue
		}
		changed = true
		r := row{int32(i), n.values[was].shown, n.values[is].shown}
		if _, known := n.rows[r]; known || len(n.rows) < maxCounted {
			n.rows[r]++
		} else {
			n.result.Truncated = true
		}
		if example.item < 0 || n.exampled[r] < n.exampled[example] {
			example = r
		}
	}
	before.Release()
	after.Release()
	if chance {
		n.result.Chance++
	}
	if !changed {
		return
	}
	n.result.Changed++
	if len(n.examples) < MaxExamples {
		n.exampled[example]++
		n.examples = append(n.examples, Example{c.Type, c.Key, c.Name, n.items[example.item].key, n.shift(example)})
	}
}

func (n *Count) shift(r row) Switch {
	s := Switch{Before: n.values[r.before].text, After: n.values[r.after].text}
	s.Confidential = s.Before == nil || s.After == nil
	return s
}

// Result is what was counted, of all contexts there are or only some.
func (n *Count) Result(complete bool) *Environment {
	e := n.result
	e.Complete, e.Values, e.Examples = complete, make([]Value, 0, len(n.rows)), append([]Example{}, n.examples...)
	for r, count := range n.rows {
		e.Values = append(e.Values, Value{n.items[r.item].key, n.shift(r), count})
	}
	slices.SortStableFunc(e.Values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Key, b.Key), bytes.Compare(a.Before, b.Before), bytes.Compare(a.After, b.After))
	})
	if len(e.Values) > MaxValues {
		e.Values, e.Truncated = e.Values[:MaxValues:MaxValues], true
	}
	return &e
}

// ContextOf is the context of a request, an object of named contexts. Its type and
// key are those of the first one that has a key.
func ContextOf(contexts *jsontree.Node) Context {
	var c Context
	for _, named := range contexts.Members {
		for _, p := range named.Value.Members {
			c.Properties = append(c.Properties, Property{named.Name, p.Name, evaluation.FromNode(p.Value)})
		}
		key := evaluation.FromNode(named.Value.Get("key")).Text
		if c.Key != "" || key == "" {
			continue
		}
		c.Type, c.Key = named.Name, key
		if name, ok := named.Value.Get("name").Text(); ok && name != "" {
			c.Name = &name
		}
	}
	return c
}

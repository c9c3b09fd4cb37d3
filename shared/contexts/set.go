package contexts

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
)

// The special properties of a context.
const (
	Key  = "key"
	Name = "name"
)

// Set holds named contexts. It never changes; a nil Set is an empty one.
type Set struct {
	named []Context // by name
	memo  atomic.Pointer[memo]
}

// Context is one named context.
type Context struct {
	name       string
	properties []property // by name
}

type property struct {
	name  string
	value Value
}

// Named is a set of one named context. Its name may be empty: properties
// without a dot in their name are looked up there.
func Named(name string, properties map[string]any) *Set {
	return &Set{named: []Context{newContext(name, properties)}}
}

// Of is a set of several named contexts.
func Of(named map[string]map[string]any) *Set {
	s := &Set{named: make([]Context, 0, len(named))}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		s.named = append(s.named, newContext(name, named[name]))
	}
	return s
}

func newContext(name string, properties map[string]any) Context {
	c := Context{name, make([]property, 0, len(properties))}
	for name, v := range properties {
		if value := ValueOf(v); value.kind != Absent {
			c.properties = append(c.properties, property{name, value})
		}
	}
	slices.SortFunc(c.properties, func(a, b property) int { return cmp.Compare(a.name, b.name) })
	return c
}

// And is the set with one more named context, in place of any of that name.
func (s *Set) And(name string, properties map[string]any) *Set {
	return s.Under(Named(name, properties))
}

// Under is this set with a more specific one over it: each named context of
// above replaces the one of the same name here.
func (s *Set) Under(above *Set) *Set {
	if s.Len() == 0 {
		return above.orEmpty()
	}
	if above.Len() == 0 {
		return s
	}
	merged := make([]Context, 0, len(s.named)+len(above.named))
	below, over := s.named, above.named
	for len(below) > 0 && len(over) > 0 {
		switch order := cmp.Compare(below[0].name, over[0].name); {
		case order < 0:
			merged, below = append(merged, below[0]), below[1:]
		case order == 0:
			below = below[1:]
		default:
			merged, over = append(merged, over[0]), over[1:]
		}
	}
	return &Set{named: append(append(merged, below...), over...)}
}

func (s *Set) orEmpty() *Set {
	if s == nil {
		return new(Set)
	}
	return s
}

// Len is how many named contexts the set holds.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.named)
}

// All are the named contexts, by name.
func (s *Set) All() iter.Seq[Context] {
	if s == nil {
		return func(func(Context) bool) {}
	}
	return slices.Values(s.named)
}

func (s *Set) find(name string) (int, bool) {
	if s == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(s.named, name, func(c Context, name string) int { return cmp.Compare(c.name, name) })
}

// Context finds a named context; one that is not there has no properties.
func (s *Set) Context(name string) (Context, bool) {
	if i, found := s.find(name); found {
		return s.named[i], true
	}
	return Context{name: name}, false
}

// Lookup finds a property of a named context.
func (s *Set) Lookup(context, property string) (Value, bool) {
	c, _ := s.Context(context)
	return c.Lookup(property)
}

// Name is the context's name.
func (c Context) Name() string { return c.name }

// Len is how many properties the context has.
func (c Context) Len() int { return len(c.properties) }

// All are the properties, by name.
func (c Context) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, p := range c.properties {
			if !yield(p.name, p.value) {
				return
			}
		}
	}
}

// Lookup finds a property.
func (c Context) Lookup(name string) (Value, bool) {
	i, found := slices.BinarySearchFunc(c.properties, name, func(p property, name string) int { return cmp.Compare(p.name, name) })
	if !found {
		return Value{}, false
	}
	return c.properties[i].value, true
}

// Key is the text of the property key: the identifier by which the context is
// saved and counted. It returns false for a context that has none, or an empty
// one, or one that is not a text or a whole number.
func (c Context) Key() (string, bool) {
	v, _ := c.Lookup(Key)
	return v.text, (v.kind == Text || v.kind == Int) && v.text != ""
}

// memo is what an evaluator keeps beside a set, under its own mark.
type memo struct{ owner, value any }

// Memo returns what was remembered beside the set under owner, or nil. It is
// for evaluators and no part of what the set means: there is room for one. A
// value with a method Release is told when a scope of the set ends; the set
// may go on being used elsewhere all the same.
func (s *Set) Memo(owner any) any {
	if m := s.memo.Load(); m != nil && m.owner == owner {
		return m.value
	}
	return nil
}

// Remember keeps a value beside the set, in place of what was there.
func (s *Set) Remember(owner, value any) { s.memo.Store(&memo{owner, value}) }

func (s *Set) release() {
	m := s.memo.Load()
	if m == nil {
		return
	}
	if value, ok := m.value.(interface{ Release() }); ok {
		value.Release()
	}
}

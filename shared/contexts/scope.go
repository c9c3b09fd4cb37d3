package contexts

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// layer is a set that can be replaced as a whole, by one writer at a time.
type layer struct {
	mu    sync.Mutex
	set   atomic.Pointer[Set]
	ended bool
}

func (l *layer) change(edit func(*Set) *Set) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.set.Store(edit(l.set.Load()))
	}
	return !l.ended
}

// Global is the layer under every scope. The zero Global is empty.
type Global struct{ layer }

// Put sets a named context, in place of the whole of any of that name.
func (g *Global) Put(name string, properties map[string]any) {
	above := Named(name, properties)
	g.change(func(s *Set) *Set { return s.Under(above) })
}

// Remove takes a named context away.
func (g *Global) Remove(name string) {
	g.change(func(s *Set) *Set {
		i, found := s.find(name)
		if !found {
			return s.orEmpty()
		}
		return &Set{named: slices.Delete(slices.Clone(s.named), i, i+1)}
	})
}

// Replace sets all of the layer.
func (g *Global) Replace(s *Set) {
	g.change(func(*Set) *Set { return s.orEmpty() })
}

// Current is the layer as it is now.
func (g *Global) Current() *Set {
	if s := g.set.Load(); s != nil {
		return s
	}
	// Kept, so that it stays the same set as long as nothing changes.
	g.set.CompareAndSwap(nil, new(Set))
	return g.set.Load()
}

// Scope is one scope: a layer over the scopes it was begun in.
type Scope struct {
	outer *Scope
	layer
	merged atomic.Pointer[merged]
}

// merged is what a scope makes of what lies below it, for as long as neither
// has changed.
type merged struct{ below, own, result *Set }

type scopeKey struct{}

// Begin begins a scope in the innermost scope of ctx. It lasts as long as the
// returned context is in use, or until End.
func Begin(ctx context.Context, sets ...*Set) (context.Context, *Scope) {
	s := &Scope{outer: Current(ctx)}
	var own *Set
	for _, set := range sets {
		own = own.Under(set)
	}
	s.set.Store(own.orEmpty())
	return context.WithValue(ctx, scopeKey{}, s), s
}

// With is Begin for a scope that ends where the returned context does.
func With(ctx context.Context, sets ...*Set) context.Context {
	ctx, _ = Begin(ctx, sets...)
	return ctx
}

// Current is the innermost scope of ctx, or nil.
func Current(ctx context.Context) *Scope {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*Scope)
	return s
}

// Put sets a named context in the innermost scope of ctx, in place of the
// whole of any of that name: all code that holds ctx sees it from now on. It returns
// false, and does nothing, when there is no scope or it has ended.
func Put(ctx context.Context, name string, properties map[string]any) bool {
	return Current(ctx).Put(name, properties)
}

// Put sets a named context of the scope, in place of the whole of any of that
// name. It returns false, and does nothing, when the scope has ended.
func (s *Scope) Put(name string, properties map[string]any) bool {
	if s == nil {
		return false
	}
	above := Named(name, properties)
	return s.change(func(own *Set) *Set { return own.Under(above) })
}

// End ends the scope: for code that still holds its context, the scope it was
// begun in is as it would be without it. To end it twice is harmless.
func (s *Scope) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.set.Store(new(Set))
	if m := s.merged.Swap(nil); m != nil {
		m.result.release()
	}
}

// Merged is what the layers come to: the scopes of ctx over the global set.
// As long as none of them changes it returns the same *Set.
func Merged(ctx context.Context, global *Set) *Set {
	return Current(ctx).over(global.orEmpty())
}

func (s *Scope) over(below *Set) *Set {
	if s == nil {
		return below
	}
	below = s.outer.over(below)
	own := s.set.Load()
	if own.Len() == 0 {
		return below
	}
	if m := s.merged.Load(); m != nil && m.below == below && m.own == own {
		return m.result
	}
	m := &merged{below, own, below.Under(own)}
	s.merged.Store(m)
	return m.result
}

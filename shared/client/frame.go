package client

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/evaluation"
)

// prepared is one set of contexts laid out for one table. It is kept beside
// the set, so that the next evaluation in the same scope finds the work done.
type prepared struct {
	table *table
	set   *contexts.Set
	idle  atomic.Pointer[lease]
	// spare is for the goroutines that use one set at the same time: a frame
	// belongs to one of them. Most sets are a request's, and never need it.
	spare atomic.Pointer[sync.Pool]
	// reported is the number of the window in which telemetry last saw the set.
	reported atomic.Int64
}

// lease is a filled frame, which goes from one evaluation to the next.
type lease struct {
	frame  *evaluation.Frame
	phase  int64 // of the rules that look at the time
	rolled bool  // chance has decided something that the frame may remember
}

func (p *prepared) take(now func() int64) *lease {
	l := p.idle.Swap(nil)
	if l == nil {
		if pool := p.spare.Load(); pool != nil {
			l, _ = pool.Get().(*lease)
		}
		if l == nil {
			l = new(lease)
		}
	}
	var at, phase int64
	if p.table.timed {
		at = now()
		phase = p.table.snapshot.Phase(at)
	}
	if l.frame != nil && phase != l.phase {
		l.frame.Release()
		l.frame = nil
	}
	if l.frame == nil {
		l.phase = phase
		l.frame = p.table.snapshot.NewFrame(at, func() float64 {
			l.rolled = true
			return rand.Float64()
		})
		fill(l.frame, p.set)
	}
	return l
}

// give puts a lease back. Where chance has decided, the next evaluation is to
// be a new throw, also of the segments that the frame remembers.
func (p *prepared) give(l *lease) {
	if l.rolled {
		l.frame.Release()
		l.frame, l.rolled = nil, false
	}
	if p.idle.CompareAndSwap(nil, l) {
		return
	}
	if p.spare.Load() == nil {
		p.spare.CompareAndSwap(nil, new(sync.Pool))
	}
	p.spare.Load().Put(l)
}

// Release gives a frame back for another set, when the scope that this one was
// made for has ended. Who goes on with the set fills a new one.
func (p *prepared) Release() {
	if l := p.idle.Swap(nil); l != nil && l.frame != nil {
		l.frame.Release()
	}
}

func fill(f *evaluation.Frame, set *contexts.Set) {
	for c := range set.All() {
		name := []byte(c.Name())
		for property, v := range c.All() {
			if slot := f.Slot(name, []byte(property)); slot >= 0 {
				f.Put(slot, propertyOf(v))
			}
		}
	}
}

func propertyOf(v contexts.Value) evaluation.Property {
	switch v.Kind() {
	case contexts.Text:
		return evaluation.Text(v.Text())
	case contexts.Int, contexts.Double:
		return evaluation.NumberLiteral(v.Text())
	case contexts.Bool:
		return evaluation.Bool(v.Text() == "true")
	case contexts.List:
		var texts []string
		for item := range v.Items() {
			texts = append(texts, propertyOf(item).Text)
		}
		return evaluation.List(texts)
	}
	return evaluation.Property{Kind: evaluation.OtherProperty}
}

// outcome is what came of an evaluation: the number of the answer, or None,
// and what the answer holds in the context.
type outcome struct {
	answer int
	value  *value // nil with None
}

// in evaluates an item in a set that others may evaluate in too.
func (t *table) in(set *contexts.Set, i int, c *Client) outcome {
	p, _ := set.Memo(t).(*prepared)
	if p == nil {
		p = &prepared{table: t, set: set}
		set.Remember(t, p)
	}
	if c.telemetry != nil {
		// Once in each window: a context that is in use for long is in use in
		// every one of them.
		if now := c.telemetry.number.Load(); p.reported.Load() != now && p.reported.Swap(now) != now {
			c.telemetry.saw(set)
		}
	}
	l := p.take(c.now)
	out := t.evaluate(i, l.frame)
	p.give(l)
	return out
}

// once evaluates an item in a set that is made for this evaluation. It also
// reports whether chance had a part in it.
func (t *table) once(set *contexts.Set, i int, c *Client) (out outcome, chance bool) {
	var at int64
	if t.timed {
		at = c.now()
	}
	f := t.snapshot.NewFrame(at, func() float64 {
		chance = true
		return rand.Float64()
	})
	defer f.Release()
	fill(f, set)
	out = t.evaluate(i, f)
	return out, chance
}

func (t *table) evaluate(i int, f *evaluation.Frame) outcome {
	n := t.snapshot.Evaluate(i, f)
	if n == evaluation.None {
		return outcome{n, nil}
	}
	if a := &t.answers[n]; a.sealed == nil {
		return outcome{n, &a.value}
	}
	return outcome{n, t.value(n, f, 0)}
}

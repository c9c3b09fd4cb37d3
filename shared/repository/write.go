package repository

import (
	"context"
	"errors"
	"sync"
)

// Lined is what a Ledger has as well if it can move the head over several
// commits at once, each the child of the one before, as Advance moves it over
// one: over all of them or none.
type Lined interface {
	AdvanceLine(ctx context.Context, from Head, line []Commit) (Head, error)
}

// Preparing is what a Ledger has as well if it can do a part of an Advance to a
// commit while the commit's objects are still being stored. That it failed is
// no failure of the commit, and neither is that the Advance never comes.
type Preparing interface {
	Prepare(ctx context.Context, commit string)
}

// Write commits what decide makes of the newest state: that of the head given,
// or one after it. Who decides nothing (no draft) or refuses (an error) gets
// the state decided on, or the error. When the head has moved in a way that
// this Repository did not know of, it is ErrMoved; the caller asks for the head
// anew and begins again.
//
// Writers decide one after the other, in the order they came, each on top of
// the one before, even while that one is being stored: what has been decided
// meanwhile is stored together, as one pack and one move of the head, if the
// ledger is Lined. So a crowd of writers waits for the disk once, and no two of
// them race. Nobody gets an answer, not even a refusal, that rests on a commit
// which has not landed.
func (r *Repository) Write(ctx context.Context, head Head, decide func(base *Snapshot) (*Draft, error)) (*Snapshot, error) {
	d, err := r.decide(ctx, head, decide)
	switch {
	case d.part != nil && d.first:
		r.drive(ctx, d.batch)
	case d.batch != nil:
		<-d.batch.done
	default:
		return d.base, err
	}
	if d.batch.err != nil {
		if d.part != nil && (d.first || errors.Is(d.batch.err, ErrUnknownOutcome)) {
			return nil, d.batch.err
		}
		return nil, ErrMoved // the failure is another's; this one begins again
	}
	if d.part == nil {
		return d.base, err
	}
	return d.part.snapshot, nil
}

// batch is commits that land together.
type batch struct {
	base  *Snapshot // what the first is on top of
	after *batch    // what has to land first; nil when base has landed
	parts []*part
	// closed: it is being stored, and takes nobody any more.
	closed bool
	done   chan struct{}
	// Once it is done: where it has led to, or why it has not landed.
	head Head
	err  error
}

// part is one writer's commit in a batch.
type part struct {
	*prepared
	snapshot *Snapshot
}

func (b *batch) tip() *Snapshot { return b.parts[len(b.parts)-1].snapshot }

// batches is the line of batches that have not landed.
type batches struct {
	lock sync.Mutex
	last *batch // the newest; each knows what comes before it
	// landed is what the newest commit of ours led to.
	landed *Snapshot
}

// decided is what a writer wants: a part of a batch, or only that the batch
// its decision rests on lands.
type decided struct {
	base  *Snapshot
	batch *batch
	part  *part
	first bool // of the batch: the one who stores it
}

func (r *Repository) decide(ctx context.Context, head Head, decide func(*Snapshot) (*Draft, error)) (decided, error) {
	if err := r.deciding.take(ctx); err != nil {
		return decided{}, err
	}
	defer r.deciding.give()
	base, on, err := r.newest(ctx, head)
	if err != nil {
		return decided{}, err
	}
	draft, err := decide(base)
	if err != nil || draft == nil {
		return decided{base: base, batch: on}, err
	}
	p, err := r.prepareOn(ctx, base, *draft)
	if err != nil || p == nil {
		return decided{base: base, batch: on}, err
	}
	if _, lined := r.ledger.(Lined); !lined {
		s, err := r.landAlone(ctx, base, p)
		return decided{base: s}, err
	}
	d := decided{base: base, part: &part{prepared: p}}
	d.part.snapshot = p.onto(base, p.commit.Sequence)
	d.part.snapshot.Head.Access = base.Head.Access
	d.batch, d.first = r.batches.add(d.part, base, on)
	return d, nil
}

// newest returns the state that the next commit goes on top of, and the batch
// that has to land for it.
func (r *Repository) newest(ctx context.Context, head Head) (*Snapshot, *batch, error) {
	tip, on, landed := r.batches.state()
	for on != nil {
		if tip.Head.Access != head.Access {
			return nil, nil, ErrMoved // they, or we, were let in before a change of access
		}
		if tip.Head.Sequence >= head.Sequence {
			return tip, on, nil
		}
		// It has landed, and somebody else has built on it before it was told.
		select {
		case <-on.done:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		tip, on, landed = r.batches.state()
	}
	if landed != nil && landed.Head.Sequence > head.Sequence && landed.Head.Access == head.Access {
		return landed, nil, nil
	}
	s, err := r.Snapshot(ctx, head)
	return s, nil, err
}

func (r *Repository) prepareOn(ctx context.Context, base *Snapshot, draft Draft) (*prepared, error) {
	if err := draft.check(); err != nil {
		return nil, err
	}
	tree, err := base.wholeTree(ctx, r.objects)
	if err != nil {
		return nil, err
	}
	return prepare(base, tree, draft)
}

// landAlone lands a commit by itself.
func (r *Repository) landAlone(ctx context.Context, base *Snapshot, p *prepared) (*Snapshot, error) {
	if err := r.writing.take(ctx); err != nil {
		return nil, err
	}
	defer r.writing.give()
	if base.superseded.Load() {
		return nil, ErrMoved // what would be stored could not win
	}
	head, err := r.land(ctx, base, []*prepared{p})
	if err != nil {
		return nil, err
	}
	s := r.landed(base, head, p.onto(base, head.Sequence))
	r.batches.lock.Lock()
	r.batches.landed = s
	r.batches.lock.Unlock()
	return s, nil
}

// state returns the newest batch and what it leads to, if there is one, and
// what has landed.
func (q *batches) state() (tip *Snapshot, on *batch, landed *Snapshot) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if q.last != nil {
		tip = q.last.tip()
	}
	return tip, q.last, q.landed
}

// add puts a part into the newest batch, or begins one.
func (q *batches) add(p *part, base *Snapshot, on *batch) (b *batch, first bool) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if on != nil && q.last == on && !on.closed {
		on.parts = append(on.parts, p)
		return on, false
	}
	q.last = &batch{base: base, after: on, parts: []*part{p}, done: make(chan struct{})}
	return q.last, true
}

func (q *batches) close(b *batch) []*prepared {
	q.lock.Lock()
	defer q.lock.Unlock()
	b.closed = true
	line := make([]*prepared, len(b.parts))
	for i, p := range b.parts {
		line[i] = p.prepared
	}
	return line
}

// drive lands a batch when its turn has come, and tells everybody in it.
func (r *Repository) drive(ctx context.Context, b *batch) {
	landed, err := r.landBatch(ctx, b)
	r.batches.lock.Lock()
	b.closed, b.err = true, err
	if err == nil {
		b.head, r.batches.landed = landed.Head, landed
	}
	if r.batches.last == b {
		r.batches.last = nil
	}
	r.batches.lock.Unlock()
	b.after = nil // which would hold all before it
	close(b.done)
}

func (r *Repository) landBatch(ctx context.Context, b *batch) (*Snapshot, error) {
	if b.after != nil {
		<-b.after.done
		if b.after.err != nil || b.after.head != b.base.Head {
			return nil, ErrMoved
		}
	}
	if err := r.writing.take(ctx); err != nil {
		return nil, err
	}
	defer r.writing.give()
	line := r.batches.close(b)
	if len(line) > 1 {
		ctx = context.WithoutCancel(ctx) // others are in it too
	}
	if b.base.superseded.Load() {
		return nil, ErrMoved // what would be stored could not win
	}
	head, err := r.land(ctx, b.base, line)
	if err != nil {
		return nil, err
	}
	r.batches.number(b, head.Sequence)
	return r.landed(b.base, head, b.tip()), nil
}

// number makes the snapshots anew if the last commit got another place in the
// history than was to be expected.
func (q *batches) number(b *batch, last int64) {
	q.lock.Lock()
	defer q.lock.Unlock()
	if b.tip().Head.Sequence == last {
		return
	}
	on := b.base
	for i, p := range b.parts {
		p.snapshot = p.onto(on, last-int64(len(b.parts)-1-i))
		on = p.snapshot
	}
}

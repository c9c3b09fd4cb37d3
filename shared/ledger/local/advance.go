package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// group is commits that become durable together, each on top of the one before:
// their objects are flushed as one pack, and the head moves once, to the last.
// Commits that come while a group is being flushed make up the next one.
type group struct {
	after   *group // has to land first; nil when what the first is on top of has landed
	commits []pending
	closed  bool // it is being flushed, and takes no more commits
	done    chan struct{}
	// Once it is done: the heads that the commits were, or why they have not landed.
	landed []repository.Head
	err    error
}

// pending is a commit that is to become durable.
type pending struct {
	from   repository.Head
	commit repository.Commit
}

// tip is the head that the group leads to.
func (g *group) tip() repository.Head {
	last := g.commits[len(g.commits)-1]
	return repository.Head{Commit: last.commit.SHA, Sequence: last.from.Sequence + 1, Access: last.from.Access}
}

// pendingTip is the head that the commits which are being flushed lead to; nil
// when there are none, or when they will be refused, as they were made at
// another access version.
func (l *Ledger) pendingTip(access int64) *repository.Head {
	l.groups.Lock()
	defer l.groups.Unlock()
	if l.newest == nil || l.newest.tip().Access != access {
		return nil
	}
	tip := l.newest.tip()
	return &tip
}

// pendingOnce is the last commit being flushed that was made for the id of a
// repository.Once.
func (l *Ledger) pendingOnce(id string) (c repository.Commit, found bool) {
	l.groups.Lock()
	defer l.groups.Unlock()
	for g := l.newest; g != nil; g = g.after {
		for _, p := range slices.Backward(g.commits) {
			if p.commit.Once != nil && p.commit.Once.ID == id {
				c = p.commit
				c.Sequence = p.from.Sequence + 1
				return c, true
			}
		}
	}
	return c, false
}

// await waits for a commit that is being flushed.
func (l *Ledger) await(ctx context.Context, commit string) error {
	l.groups.Lock()
	g := l.newest
	for g != nil && !slices.ContainsFunc(g.commits, func(p pending) bool { return p.commit.SHA == commit }) {
		g = g.after
	}
	l.groups.Unlock()
	if g == nil {
		return nil
	}
	select {
	case <-g.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Advance implements repository.Ledger. A commit onto no head may bring a
// history of its own; every other one has the head as its parent. The head that
// it begins with may be one that an Advance is still making durable.
func (l *Ledger) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	if err := checkCommit(from, c); err != nil {
		return repository.Head{}, err
	}
	g, n := l.join(from, c)
	switch {
	case g == nil:
		return repository.Head{}, repository.ErrMoved
	case n == 0:
		l.land(ctx, g)
	default:
		<-g.done
	}
	switch {
	case g.err == nil:
		return g.landed[n], nil
	case n > 0 && repository.Refused(g.err):
		return repository.Head{}, repository.ErrMoved // the reason is the first one's
	}
	return repository.Head{}, g.err
}

// join adds a commit to the newest group, or begins one. It returns the commit's
// number in the group: the first of them is the one who flushes it. It returns
// nil when the commit cannot land.
func (l *Ledger) join(from repository.Head, c repository.Commit) (*group, int) {
	l.groups.Lock()
	defer l.groups.Unlock()
	p := pending{from: from, commit: c}
	h, last := l.history.Load(), l.newest
	tip := headOf(h)
	tip.Access = from.Access // which is compared under the write lock
	if last != nil {
		tip = last.tip()
	}
	if h.holds(c.SHA) || l.unsure[c.SHA] {
		// It may have landed, and this is the question whether it has: alone, so
		// that nothing that happens to others is taken for the answer.
		return &group{commits: []pending{p}, done: make(chan struct{})}, 0
	}
	if from != tip {
		return nil, 0
	}
	if last != nil && !last.closed {
		last.commits = append(last.commits, p)
		return last, len(last.commits) - 1
	}
	l.newest = &group{after: last, commits: []pending{p}, done: make(chan struct{})}
	return l.newest, 0
}

// land flushes a group when its turn has come, and tells everybody in it.
func (l *Ledger) land(ctx context.Context, g *group) {
	finish := func(err error) {
		l.groups.Lock()
		g.closed, g.after, g.err = true, nil, err
		if l.newest == g {
			l.newest = nil
		}
		l.groups.Unlock()
		close(g.done)
	}
	if g.after != nil {
		<-g.after.done
		if g.after.err != nil {
			finish(repository.ErrMoved)
			return
		}
	}
	if err := l.writing.acquire(ctx); err != nil {
		finish(fmt.Errorf("moving the head: %w: %w", repository.ErrBusy, err))
		return
	}
	defer l.writing.release() // after the group has gone, so that nobody begins with it who knows of a later head
	l.groups.Lock()
	g.closed = true
	l.groups.Unlock()
	if len(g.commits) > 1 {
		ctx = context.WithoutCancel(ctx) // others are in it too
	}
	var err error
	g.landed, err = l.flush(ctx, g.commits)
	finish(err)
}

// flush makes commits durable, and the last of them the head. It returns the
// heads that they were. The caller holds the writer's turn.
func (l *Ledger) flush(ctx context.Context, commits []pending) ([]repository.Head, error) {
	if err := l.CheckLock(); err != nil {
		return nil, err
	}
	found, err := l.registry.current()
	if err != nil {
		return nil, repository.Unwritten(err)
	}
	if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
		return nil, repository.Unwritten(err)
	}
	l.leaveOpen(nil)
	h := l.history.Load()
	first, from, last := commits[0].commit, commits[0].from, commits[len(commits)-1].commit
	if h.holds(first.SHA) {
		// An earlier Advance moved the head and failed afterwards, perhaps to flush it.
		if err := l.branch.flush(); err != nil {
			return nil, err
		}
		return headsOf(h, commits, found.Version), nil
	}
	if at := headOf(h); at.Commit != from.Commit || at.Sequence != from.Sequence {
		return nil, repository.ErrMoved
	}
	var packs []string
	for _, p := range commits {
		packs = append(packs, p.commit.Pack)
	}
	var storing errgroup.Group
	storing.Go(func() error { return l.objects.store(ctx, packs...) })
	storing.Go(func() error { return l.remember(ctx, commits) })
	err = l.branch.prepare(last.SHA)
	if err := errors.Join(storing.Wait(), err); err != nil {
		return nil, repository.Unwritten(errors.Join(err, l.branch.recover()))
	}
	release, err := l.files.lockForWriting(ctx, l.dir)
	if err != nil {
		return nil, repository.Unwritten(fmt.Errorf("moving the head: %w", err))
	}
	defer release()
	if found, err = l.registry.current(); err != nil {
		return nil, repository.Unwritten(err)
	}
	if found.Version != from.Access {
		return nil, repository.ErrMoved
	}
	if err := l.branch.swap(ctx, from.Commit, last.SHA, entryOf(last)); err != nil {
		if !repository.Refused(err) {
			l.leaveOpen(commits)
		}
		return nil, err
	}
	if first.Parent != from.Commit { // it brings a history
		if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
			l.leaveOpen(commits)
			return nil, err
		}
	} else {
		rows := make([]row, len(commits))
		for i, p := range commits {
			rows[i] = rowOf(p.commit).asHead(i == len(commits)-1)
		}
		l.begun.Store(true)
		l.extend(rows)
	}
	return headsOf(l.history.Load(), commits, found.Version), nil
}

// remember writes which requests commits are made for, before they land: what is written
// counts once the history has the commit.
func (l *Ledger) remember(ctx context.Context, commits []pending) error {
	var records []repository.Answered
	for _, p := range commits {
		if o := p.commit.Once; o != nil {
			records = append(records, repository.Answered{ID: o.ID, Request: o.Request, Answer: o.Answer, Commit: p.commit.SHA, Until: o.Until.Unix()})
		}
	}
	if len(records) == 0 {
		return nil
	}
	if err := l.files.before(OpWrite, l.answers.File.Path); err != nil {
		return err
	}
	return l.answers.Put(ctx, commits[0].commit.Committer.When, records...)
}

// leaveOpen notes which commits may have landed without the history telling.
func (l *Ledger) leaveOpen(commits []pending) {
	l.groups.Lock()
	defer l.groups.Unlock()
	l.unsure = map[string]bool{}
	for _, p := range commits {
		l.unsure[p.commit.SHA] = true
	}
}

func headsOf(h *history, commits []pending, access int64) []repository.Head {
	heads := make([]repository.Head, len(commits))
	for i, p := range commits {
		number, _ := h.find(object.ParseID(p.commit.SHA))
		heads[i] = repository.Head{Commit: p.commit.SHA, Sequence: h.base + int64(number), Access: access}
	}
	return heads
}

// checkCommit reports mistakes of the caller, which would damage the index.
func checkCommit(from repository.Head, c repository.Commit) error {
	switch {
	case !isID(c.SHA):
		return fmt.Errorf("advance: %q is no commit id of 40 hexadecimal digits", c.SHA)
	case c.Tree != "" && !isID(c.Tree):
		return fmt.Errorf("advance: %q is no tree id of 40 hexadecimal digits", c.Tree)
	case from.Commit != "" && c.Parent != from.Commit:
		return fmt.Errorf("advance: the commit's parent is %q and the head %q: they must be the same", c.Parent, from.Commit)
	}
	for _, touch := range c.Touched {
		if touch.Blob != "" && !isID(touch.Blob) {
			return fmt.Errorf("advance: %s: %q is no object id of 40 hexadecimal digits", touch.Path, touch.Blob)
		}
	}
	return nil
}

func rowOf(c repository.Commit) row {
	var parents []object.ID
	if c.Parent != "" {
		parents = []object.ID{object.ParseID(c.Parent)}
	}
	return headerOf(c, parents).withTouches(c.Touched)
}

package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/table"
)

// ImportOptions say how a history is made into rows.
type ImportOptions struct {
	// Objects give the tree at the head, once, and keep the snapshot that
	// readers begin with, if they are repository.Checkpoints.
	Objects repository.Objects
	// Packs are all packs that hold the history. Reindex adds those that
	// commits were stored in lately; with nil it takes the ledger's own list.
	Packs []string
	// Fence is the head's as it was read before any of the packs was stored, or
	// was found to be there. With another one nothing is written.
	Fence int64
	// Place says where an object lies, so that an old document is one ranged
	// read away. It may be nil.
	Place func(id object.ID) (pack string, where pack.Place, ok bool)
	// Progress hears how many commits of how many have been told. It may be
	// nil.
	Progress func(done, total int)
}

// Import makes a commit, with the history that it has in git, the head, in the
// place of what is there. Its rows are written first, where nobody sees them;
// ErrMoved when the head has moved, or its fence was raised, meanwhile. What an
// interrupted import leaves is removed by Sweep.
func (l *Ledger) Import(ctx context.Context, objects revwalk.Reader, commit string, o ImportOptions) (repository.Head, error) {
	from, err := l.headAt(ctx, o.Fence)
	if err != nil {
		return from, err
	}
	if !object.IsID(commit) {
		return from, fmt.Errorf("import: %q is no commit id of 40 hexadecimal digits", commit)
	}
	if err := listable(o.Packs); err != nil {
		return from, err
	}
	number := func(int) int64 { return 1 }
	if from.Sequence > 0 {
		// No sequence stands for two states, and the gap keeps a reader from
		// following the new history from the old one.
		number = func(int) int64 { return from.Sequence + 2 }
	}
	to, err := l.fill(ctx, objects, commit, number, o)
	if err != nil {
		return repository.Head{}, err
	}
	return l.swap(ctx, from, to, o.Packs, to.Sequence)
}

// headAt is the head as long as its fence stands: else a sweep may have taken away what
// was begun with.
func (l *Ledger) headAt(ctx context.Context, fence int64) (repository.Head, error) {
	head, err := l.Head(ctx)
	if err == nil && head.Fence != fence {
		err = fmt.Errorf("what nobody names was swept meanwhile; begin again: %w", repository.ErrMoved)
	}
	return head, err
}

// maxSwaps bounds how often Reindex runs after writers.
const maxSwaps = 50

// Reindex rebuilds all rows from git, and the snapshot that readers begin
// with. Commit and sequence of the head stay. Writers go on meanwhile.
func (l *Ledger) Reindex(ctx context.Context, objects revwalk.Reader, o ImportOptions) (repository.Head, error) {
	from, err := l.headAt(ctx, o.Fence)
	if err != nil || from.Commit == "" {
		return from, err
	}
	packs, err := l.packsFor(ctx, from, o.Packs)
	if err == nil {
		err = listable(packs)
	}
	if err != nil {
		return repository.Head{}, err
	}
	number := func(commits int) int64 { return max(from.Sequence-int64(commits), 0) + 1 }
	to, err := l.fill(ctx, objects, from.Commit, number, o)
	if err != nil {
		return repository.Head{}, err
	}
	// What is written meanwhile names its pack in its own row.
	through := to.Sequence
	for range maxSwaps {
		head, err := l.swap(ctx, from, to, packs, through)
		if !errors.Is(err, repository.ErrMoved) {
			return head, err
		}
		now, err := l.headAt(ctx, o.Fence)
		if err != nil {
			return repository.Head{}, err
		}
		if to, err = l.extend(ctx, from, now, to); err != nil {
			return repository.Head{}, err
		}
		from = now
	}
	return repository.Head{}, fmt.Errorf("reindexing: the head does not stand still: %w", repository.ErrBusy)
}

// packsFor lists the packs that hold the history up to a head: those given,
// and those of commits that may have come after they were listed. Without any
// given, all that the rows name.
func (l *Ledger) packsFor(ctx context.Context, head repository.Head, given []string) ([]string, error) {
	if given == nil {
		return l.Packs(ctx)
	}
	m, err := l.merged(ctx)
	if err != nil && !errors.Is(err, errRow) { // rows that are damaged are why they are rebuilt
		return nil, err
	}
	m.packs = given
	all, _, err := l.withLater(ctx, head, m, math.MaxInt)
	if errors.Is(err, errRow) {
		err = nil
	}
	return slices.Sorted(maps.Keys(all)), err
}

// extend adds what writers have done since to a new index.
func (l *Ledger) extend(ctx context.Context, from, now, to repository.Head) (repository.Head, error) {
	if now.Index != from.Index || from.Sequence != to.Sequence {
		return to, fmt.Errorf("reindexing: somebody else has replaced the rows: %w", repository.ErrMoved)
	}
	commits, err := l.Since(ctx, now, from.Sequence)
	if err != nil {
		return to, err
	}
	for _, c := range commits {
		if c.Parent != to.Commit {
			return to, fmt.Errorf("reindexing: the history was replaced: %w", repository.ErrMoved)
		}
		w := l.rows(to.Index).of(c, nil)
		if err := l.put(ctx, []written{w}); err != nil {
			return to, err
		}
		to = next(to, c, w)
	}
	to.Access = now.Access
	return to, nil
}

// put writes the rows of commits: those first by which Sweep finds the others.
func (l *Ledger) put(ctx context.Context, all []written) error {
	var logs, parts, others []item
	for _, w := range all {
		logs, parts = append(logs, w.log), append(parts, w.rest...)
		others = append(append(others, w.id), w.items...)
	}
	for _, rows := range [][]item{logs, parts, others} {
		if err := l.table.db.Batch(ctx, puts(rows)); err != nil {
			return err
		}
	}
	return nil
}

// rowsAtOnce is how many rows are collected before they are written.
const rowsAtOnce = 2000

// filler makes the rows of a history, commit by commit.
type filler struct {
	*Ledger
	rows     rows
	options  ImportOptions
	sequence int64 // of the last commit told
	tree     object.ID
	parent   object.ID // the commit told last
	trees    *revwalk.Trees
	touches  touches
	open     []written
	pending  int
}

// fill writes the rows of a history under a new index, and returns the head
// that would show them. number gives the first commit's sequence.
func (l *Ledger) fill(ctx context.Context, objects revwalk.Reader, commit string, number func(commits int) int64, o ImportOptions) (repository.Head, error) {
	f := &filler{Ledger: l, rows: l.rows(newIndex()), options: o, trees: revwalk.NewTrees(objects), touches: newTouches()}
	if err := l.table.db.Batch(ctx, puts([]item{l.noted(f.rows.index, o.Fence)})); err != nil {
		return repository.Head{}, err
	}
	way := revwalk.Walk[repository.Commit]{
		Trees: f.trees,
		Begin: func(c repository.Commit, _ []object.ID) repository.Commit { return c },
	}
	told := 0
	err := way.Each(ctx, object.ParseID(commit), func(n *revwalk.Node[repository.Commit], touched []repository.Touch) error {
		if told == 0 {
			f.sequence = number(way.Len()) - 1
		}
		told++
		if o.Progress != nil {
			o.Progress(told, way.Len())
		}
		return f.tell(ctx, n, touched)
	})
	if err == nil {
		err = f.flush(ctx)
	}
	if err != nil {
		return repository.Head{}, fmt.Errorf("telling the history of %s: %w", commit, err)
	}
	return f.head(ctx, commit)
}

// noted is the note that rows were begun by a writer who had read a fence, or that no
// head names them any more.
func (l *Ledger) noted(name string, fence int64) item {
	i := rowOf(keyOf(indexPartition(l.workspace), name))
	i.Attributes["f"] = table.Number(fence)
	return i
}

func (f *filler) tell(ctx context.Context, n *revwalk.Node[repository.Commit], touched []repository.Touch) error {
	var shifts []repository.Touch
	if len(n.Parents) != 1 && f.parent != (object.ID{}) || len(n.Parents) == 1 && n.Parents[0] != f.parent {
		var err error
		if shifts, err = f.shifts(n, touched); err != nil {
			return err
		}
	}
	f.parent, f.tree = n.ID, n.Tree
	f.sequence++
	c := n.Row
	c.Sequence, c.Touched = f.sequence, f.placed(touched)
	if f.options.Place != nil {
		c.Pack, _, _ = f.options.Place(n.ID)
	}
	f.touches.add(c, shifts)
	w := f.rows.of(c, f.placed(shifts))
	f.open = append(f.open, w)
	if f.pending += 2 + len(w.items) + len(w.rest); f.pending < rowsAtOnce {
		return nil
	}
	return f.flush(ctx)
}

// shifts are the files that differ from the commit told before, which is not
// the only parent, and that this one did not touch.
func (f *filler) shifts(n *revwalk.Node[repository.Commit], touched []repository.Touch) ([]repository.Touch, error) {
	differ, err := f.trees.Touches(n.Tree, []object.ID{f.tree})
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, t := range touched {
		mine[t.Path] = true
	}
	var shifts []repository.Touch
	for _, t := range differ {
		if !mine[t.Path] {
			shifts = append(shifts, t)
		}
	}
	return shifts, nil
}

func (f *filler) placed(touched []repository.Touch) []repository.Touch {
	if f.options.Place == nil {
		return touched
	}
	for i, t := range touched {
		if name, where, ok := f.options.Place(object.ParseID(t.Blob)); ok && t.Blob != "" {
			touched[i].Pack, touched[i].Offset, touched[i].Length, touched[i].Base = name, where.Offset, where.Length, where.Base
		}
	}
	return touched
}

func (f *filler) flush(ctx context.Context) error {
	err := f.put(ctx, f.open)
	f.open, f.pending = nil, 0
	return err
}

// head stores the snapshot at the last commit.
func (f *filler) head(ctx context.Context, commit string) (repository.Head, error) {
	to := repository.Head{Commit: commit, Sequence: f.sequence, Fence: f.options.Fence, Index: f.rows.index}
	to.Base.Follow = to.Sequence
	keeper, keeps := f.options.Objects.(repository.Checkpoints)
	if !keeps {
		return to, nil
	}
	tree, err := f.options.Objects.Tree(ctx, to)
	if err != nil {
		return to, fmt.Errorf("reading the tree of %s: %w", commit, err)
	}
	snapshot := repository.SnapshotOf(to, tree, f.touches.last())
	row, _, err := f.table.headRow(ctx, f.workspace, "secret", "format")
	if err != nil {
		return to, err
	}
	versions, briefs := served.Stored(snapshot, row.Bytes("secret"), time.Now())
	name, content, err := repository.EncodeSnapshot(snapshot, briefs)
	if err != nil {
		return to, err
	}
	to.Versions = versions
	if err := keeper.PutSnapshot(ctx, name, content); err != nil {
		return to, fmt.Errorf("storing the snapshot of %s: %w", commit, err)
	}
	to.Base.Name, to.Base.Sequence = name, to.Sequence
	return to, nil
}

// swap lets the head name another index, if it and its fence are still where
// they were, beside the list of packs that goes with it.
func (l *Ledger) swap(ctx context.Context, from, to repository.Head, packs []string, through int64) (repository.Head, error) {
	to.Access, to.Fence = from.Access, from.Fence
	if to.Commit == from.Commit && to.Versions == "" {
		to.Versions = from.Versions
	}
	err := l.table.db.Transact(ctx, l.headUpdate(from, to),
		put(l.noted(from.Index, from.Fence)),
		remove(keyOf(indexPartition(l.workspace), to.Index)),
		set(packsKey(l.workspace), listing(packs, through)))
	if err == nil {
		return to, nil
	}
	if !errors.Is(err, table.ErrRefused) {
		return repository.Head{}, err
	}
	now, err := l.Head(ctx)
	if err != nil {
		return repository.Head{}, err
	}
	if now.Index != to.Index {
		// A sweep may have taken the note while rows were still being written.
		return repository.Head{}, errors.Join(repository.ErrMoved, l.table.db.Batch(ctx, puts([]item{l.noted(to.Index, from.Fence)})))
	}
	return now, nil
}

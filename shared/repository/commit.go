package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Commit writes on top of a snapshot and returns the one that it leads to, or
// ErrMoved. A draft that changes nothing returns the snapshot it was given.
//
// The pack with all new objects is stored before the head moves. When the
// ledger fails in a way that leaves the outcome open, it is asked again,
// beyond the end of ctx: an error then means that nothing was written, except
// for ErrUnknownOutcome.
func (r *Repository) Commit(ctx context.Context, base *Snapshot, draft Draft) (*Snapshot, error) {
	if err := draft.check(); err != nil {
		return nil, err
	}
	if err := r.writing.take(ctx); err != nil {
		return nil, err
	}
	defer r.writing.give()
	if base.superseded.Load() {
		return nil, ErrMoved // what would be stored could not win
	}
	tree, err := base.wholeTree(ctx, r.objects)
	if err != nil {
		return nil, err
	}
	p, err := prepare(base, tree, draft)
	if err != nil || p == nil {
		return base, err
	}
	head, err := r.land(ctx, base, []*prepared{p})
	if err != nil {
		return nil, err
	}
	return r.landed(base, head, p.onto(base, head.Sequence)), nil
}

// prepared is a commit with everything it needs.
type prepared struct {
	commit  Commit
	updates []update
	tree    Tree
	objects []pack.Object
}

// prepare makes the objects of a commit; nil when nothing would change.
func prepare(base *Snapshot, tree Tree, draft Draft) (*prepared, error) {
	updates, touches := difference(base, draft.Changes)
	if len(updates) == 0 {
		return nil, nil
	}
	grown, err := tree.grow(updates)
	if err != nil {
		return nil, err
	}
	p := &prepared{updates: updates, tree: grown.tree}
	commit := encodeCommit(base.Head, grown.root, draft)
	p.objects = append(append(blobs(updates), grown.made...), commit)
	p.commit, err = describe(base.Head, commit)
	p.commit.Touched = touches
	return p, err
}

// difference leaves out what is so already.
func difference(base *Snapshot, changes []Change) ([]update, []Touch) {
	changes = slices.Clone(changes)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	var updates []update
	var touches []Touch
	for _, c := range changes {
		old, existed := base.File(c.Path)
		u := update{path: c.Path}
		t := Touch{Path: c.Path, Created: !existed}
		if c.Content != nil {
			t.Blob = object.ID(object.Blob, c.Content)
			t.Text = slices.Clone(c.Content)
			u.file = &File{Path: c.Path, Blob: t.Blob, Text: t.Text}
		}
		if old.Blob != t.Blob { // both "" when what is not there is deleted
			updates, touches = append(updates, u), append(touches, t)
		}
	}
	return updates, touches
}

func blobs(updates []update) []pack.Object {
	var objects []pack.Object
	for _, u := range updates {
		if u.file != nil {
			objects = append(objects, pack.Object{ID: u.file.Blob, Kind: object.Blob, Content: u.file.Text})
		}
	}
	return objects
}

func encodeCommit(parent Head, root string, draft Draft) pack.Object {
	c := object.Commit{Tree: root, Author: draft.Author, Committer: draft.Committer, Message: draft.message()}
	if parent.Commit != "" {
		c.Parents = []string{parent.Commit}
	}
	content := object.EncodeCommit(c)
	return pack.Object{ID: object.ID(object.CommitKind, content), Kind: object.CommitKind, Content: content}
}

// describe reads a commit back, so that it is told now as it will be by
// whoever finds it in git: dates to the second, for example.
func describe(parent Head, o pack.Object) (Commit, error) {
	c, err := object.DecodeCommit(o.Content)
	return Commit{
		SHA:       o.ID,
		Sequence:  parent.Sequence + 1,
		Parent:    parent.Commit,
		Author:    c.Author,
		Committer: c.Committer,
		Message:   c.Message,
		Tree:      c.Tree,
	}, err
}

// packed puts the objects of commits into one pack and tells the commits where
// they lie. Its name depends on the fence that the writer has read.
func packed(line []*prepared, fence int64) (*pack.Pack, error) {
	var objects []pack.Object
	for _, p := range line {
		objects = append(objects, p.objects...)
	}
	made, err := pack.Encode(objects)
	if err != nil {
		return nil, err
	}
	made.Name = pack.NameAt(made.Name, fence)
	for _, p := range line {
		p.commit.Pack = made.Name
		for i, t := range p.commit.Touched {
			if place, ok := made.Places[t.Blob]; ok {
				t.Pack, t.Offset, t.Length = made.Name, place.Offset, place.Length
				p.commit.Touched[i] = t
			}
		}
	}
	return made, nil
}

// land stores the objects of a line of commits, each on top of the one before,
// and moves the head to the last.
func (r *Repository) land(ctx context.Context, base *Snapshot, line []*prepared) (Head, error) {
	made, err := packed(line, base.Head.Fence)
	if err != nil {
		return Head{}, err
	}
	if err := r.store(ctx, base, line, made); err != nil {
		return Head{}, Unwritten(fmt.Errorf("storing the objects of a commit: %w", err))
	}
	commits := make([]Commit, len(line))
	for i, p := range line {
		commits[i] = p.commit
	}
	head, err := r.advance(ctx, base.Head, commits)
	if err != nil && !isRefusal(err) {
		head, err = r.settle(ctx, base.Head, commits, err)
	}
	if !errors.Is(err, ErrUnknownOutcome) {
		r.objects.Release(made.Name)
	}
	return head, err
}

func (r *Repository) advance(ctx context.Context, from Head, line []Commit) (Head, error) {
	if len(line) == 1 {
		return r.ledger.Advance(ctx, from, line[0])
	}
	return r.ledger.(Lined).AdvanceLine(ctx, from, line)
}

// store stores the pack and beside it, when one is due, the snapshot that the
// commit leads to. A snapshot that could not be stored is not named: a later
// commit brings one.
func (r *Repository) store(ctx context.Context, base *Snapshot, line []*prepared, made *pack.Pack) error {
	var storing sync.WaitGroup
	name, p := "", line[len(line)-1]
	if keeper := r.keeperFor(base.Head, p.commit); keeper != nil && len(line) == 1 {
		storing.Go(func() {
			named, content, err := EncodeSnapshot(p.onto(base, p.commit.Sequence))
			if err == nil && keeper.PutSnapshot(ctx, named, content) == nil {
				name = named
			}
		})
	}
	if ledger, can := r.ledger.(Preparing); can {
		storing.Go(func() { ledger.Prepare(ctx, p.commit.SHA) })
	}
	err := r.objects.PutPack(ctx, made.Name, made.Bytes, made.Index)
	storing.Wait()
	p.commit.Base = name
	return err
}

// keeperFor returns what keeps the snapshot of a commit, nil when none is due.
func (r *Repository) keeperFor(from Head, c Commit) Checkpoints {
	ledger, based := r.ledger.(Checkpointed)
	keeper, keeps := r.objects.(Checkpoints)
	if !based || !keeps || !ledger.Due(from, c) {
		return nil
	}
	return keeper
}

// isRefusal says whether an error of the ledger means that nothing happened.
func isRefusal(err error) bool {
	return errors.Is(err, ErrMoved) || errors.Is(err, ErrBusy) || errors.Is(err, ErrFailed) || errors.Is(err, ErrNewer)
}

// What it takes to learn from the ledger how an Advance ended.
const (
	patience = 5 * time.Second
	attempts = 3
	pause    = 100 * time.Millisecond
)

// settle finds out how an Advance ended, by asking for it once more: a commit
// that has landed is a success, and one that has not lands now or never will.
func (r *Repository) settle(ctx context.Context, from Head, line []Commit, cause error) (Head, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var err error
	for range attempts {
		var head Head
		if head, err = r.advance(ctx, from, line); err == nil {
			return head, nil
		}
		if errors.Is(err, ErrMoved) || errors.Is(err, ErrNewer) {
			return Head{}, err
		}
		time.Sleep(pause)
	}
	return Head{}, fmt.Errorf("%w: %w; asked again: %w", ErrUnknownOutcome, cause, err)
}

// onto makes the snapshot that the commit leads to, given the place that it
// gets in the history.
func (p *prepared) onto(base *Snapshot, sequence int64) *Snapshot {
	by := p.commit
	by.Sequence, by.Touched, by.Base = sequence, nil, ""
	updates := make([]update, len(p.updates))
	for i, u := range p.updates {
		updates[i] = update{path: u.path}
		if u.file != nil {
			file := *u.file
			file.Last = &by
			updates[i].file = &file
		}
	}
	head := Head{Commit: by.SHA, Sequence: sequence, Fence: base.Head.Fence}
	s := &Snapshot{Head: head, Files: merge(base.Files, updates), tree: p.tree, treeKnown: true}
	return s.weigh(textsOf(updates))
}

// landed keeps the snapshot that commits have led to.
func (r *Repository) landed(base *Snapshot, head Head, s *Snapshot) *Snapshot {
	if s.Head != head {
		s = s.copy(head)
	}
	base.superseded.Store(true)
	r.memory.renew(base)
	r.memory.put(s)
	return s
}

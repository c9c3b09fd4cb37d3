package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	head, err := r.land(ctx, base.Head, p)
	if err != nil {
		return nil, err
	}
	return r.landed(base, head, p), nil
}

// prepared is a commit with everything it needs.
type prepared struct {
	commit  Commit
	updates []update
	tree    Tree
	pack    *pack.Pack
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
	objects := blobs(updates)
	commit := encodeCommit(base.Head, grown.root, draft)
	objects = append(append(objects, grown.made...), commit)
	if p.pack, err = pack.Encode(objects); err != nil {
		return nil, err
	}
	p.commit, err = describe(base.Head, commit)
	p.commit.Touched = p.placed(touches)
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
			u.file = &File{Path: c.Path, Blob: t.Blob, Text: slices.Clone(c.Content)}
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

func (p *prepared) placed(touches []Touch) []Touch {
	for i, t := range touches {
		if place, ok := p.pack.Places[t.Blob]; ok {
			touches[i].Pack, touches[i].Offset, touches[i].Length = p.pack.Name, place.Offset, place.Length
		}
	}
	return touches
}

// land stores the objects and moves the head.
func (r *Repository) land(ctx context.Context, from Head, p *prepared) (Head, error) {
	if err := r.objects.PutPack(ctx, p.pack.Name, p.pack.Bytes, p.pack.Index); err != nil {
		return Head{}, fmt.Errorf("storing the objects of a commit: %w", err)
	}
	head, err := r.ledger.Advance(ctx, from, p.commit)
	if err != nil && !isRefusal(err) {
		head, err = r.settle(ctx, from, p.commit, err)
	}
	if !errors.Is(err, ErrUnknownOutcome) {
		r.objects.Release(p.pack.Name)
	}
	return head, err
}

// isRefusal says whether an error of the ledger means that nothing happened.
func isRefusal(err error) bool { return errors.Is(err, ErrMoved) || errors.Is(err, ErrBusy) }

// What it takes to learn from the ledger how an Advance ended.
const (
	patience = 5 * time.Second
	attempts = 3
	pause    = 100 * time.Millisecond
)

// settle finds out how an Advance ended, by asking for it once more: a commit
// that has landed is a success, and one that has not lands now or never will.
func (r *Repository) settle(ctx context.Context, from Head, c Commit, cause error) (Head, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var err error
	for range attempts {
		var head Head
		if head, err = r.ledger.Advance(ctx, from, c); err == nil {
			return head, nil
		}
		if errors.Is(err, ErrMoved) {
			return Head{}, ErrMoved
		}
		time.Sleep(pause)
	}
	return Head{}, fmt.Errorf("%w: %w; asked again: %w", ErrUnknownOutcome, cause, err)
}

// landed makes the snapshot that a commit leads to.
func (r *Repository) landed(base *Snapshot, head Head, p *prepared) *Snapshot {
	by := p.commit
	by.Sequence, by.Touched = head.Sequence, nil
	for _, u := range p.updates {
		if u.file != nil {
			u.file.Last = by
		}
	}
	s := &Snapshot{Head: head, Files: merge(base.Files, p.updates), tree: p.tree, treeKnown: true}
	base.superseded.Store(true)
	r.memory.renew(base)
	r.memory.put(s)
	return s
}

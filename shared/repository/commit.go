package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Commit writes on top of a snapshot and returns the one that it leads to, or
// ErrMoved when the head is another: decide again on a fresh snapshot. A draft
// that changes nothing returns the snapshot it was given.
//
// The pack with all new objects is stored before the head moves. When the
// ledger fails in a way that leaves the outcome open, it is asked again,
// beyond the end of ctx: an error then means that nothing was written, except
// for ErrUnknownOutcome.
func (r *Repository) Commit(ctx context.Context, base *Snapshot, draft Draft) (*Snapshot, error) {
	if len(draft.Changes) == 0 {
		return base, nil
	}
	if err := draft.check(); err != nil {
		return nil, err
	}
	if draft.Turn != nil {
		draft.Turn.On = nil
	}
	if q, queues := r.ledger.(Queue); queues && draft.Turn != nil && (draft.Turn.lost || draft.Turn.Waited() || base.Head.Turn != "") {
		return r.inTurn(ctx, q, base, draft)
	}
	c, err := r.begin(ctx, base, draft)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return base, nil
	}
	landed, err := r.land(ctx, base, c, draft, func(ctx context.Context, commits []Commit) (Head, error) {
		return r.ledger.Advance(ctx, base.Head, commits[0])
	})
	if err != nil {
		return nil, draft.Turn.lose(err)
	}
	return landed, nil
}

// chain is commits, each the parent of the next, that are stored in one pack.
type chain struct {
	commits []*prepared
	from    Head      // that the last one is made on, about
	tip     *Snapshot // what it leads to
	bytes   int
	due     bool // a snapshot comes with it, so nothing comes after it
}

// begin makes a chain of one commit; nil when nothing would change.
func (r *Repository) begin(ctx context.Context, base *Snapshot, draft Draft) (*chain, error) {
	tree, err := base.wholeTree(ctx, r.objects)
	if err != nil {
		return nil, err
	}
	p, err := prepare(base, tree, draft)
	if err != nil || p == nil {
		return nil, err
	}
	return &chain{commits: []*prepared{p}, from: base.Head, tip: p.onto(base, p.commit.Sequence), bytes: p.size()}, nil
}

// isDue reports whether a commit comes with a snapshot.
func (r *Repository) isDue(from Head, c Commit) bool {
	ledger, based := r.ledger.(Checkpointed)
	return based && ledger.Due(from, &c)
}

// add adds a commit.
func (r *Repository) add(c *chain, p *prepared) {
	c.from.Commit, c.from.Sequence = c.tip.Head.Commit, c.tip.Head.Sequence
	for _, t := range c.commits[len(c.commits)-1].commit.Touched {
		c.from.Base.Bytes += int64(len(t.Text))
	}
	c.commits, c.tip, c.bytes = append(c.commits, p), p.onto(c.tip, p.commit.Sequence), c.bytes+p.size()
	c.due = r.isDue(c.from, p.commit)
}

// list are the commits.
func (c *chain) list() (commits []Commit) {
	for _, p := range c.commits {
		commits = append(commits, p.commit)
	}
	return commits
}

// land stores a chain and moves the head over it.
func (r *Repository) land(ctx context.Context, base *Snapshot, c *chain, draft Draft, advance func(context.Context, []Commit) (Head, error)) (*Snapshot, error) {
	made, err := c.pack(base.Head.Fence)
	if err != nil {
		return nil, err
	}
	next := c.tip
	last := &c.commits[len(c.commits)-1].commit
	if last.Base, err = r.store(ctx, c.from, last, made, next, draft.Briefs); err != nil {
		return nil, Unwritten(fmt.Errorf("storing the objects of a commit: %w", err))
	}
	if _, keeps := r.ledger.(Checkpointed); keeps && draft.Versions != nil {
		last.Versions = draft.Versions(ctx, next)
	}
	commits := c.list()
	head, err := advance(ctx, commits)
	if err != nil && !Refused(err) {
		head, err = resolveOutcome(ctx, err, func(ctx context.Context) (Head, error) { return advance(ctx, commits) })
	}
	if errors.Is(err, ErrUnknownOutcome) {
		time.AfterFunc(longest, func() { r.objects.Release(made.Name) }) // it may land yet
	} else {
		r.objects.Release(made.Name)
	}
	if err != nil {
		return nil, err
	}
	s := next.copy(head)
	if shift := head.Sequence - next.Head.Sequence; shift != 0 {
		s = base
		for _, p := range c.commits {
			s = p.onto(s, p.commit.Sequence+shift)
		}
		s = s.copy(head)
	}
	s.Parent = c.commits[0].commit.Parent
	r.memory.put(s)
	return s, nil
}

// prepared is a commit with everything it needs.
type prepared struct {
	commit  Commit
	updates []update
	tree    Tree
	objects []pack.Object
}

// prepare makes the objects of a commit; nil when nothing would change. Each commit passes
// here, however it came about, and is held to what has to be reviewed.
func prepare(base *Snapshot, tree Tree, draft Draft) (*prepared, error) {
	updates, touches := difference(base, draft.Changes)
	if len(updates) == 0 {
		return nil, nil
	}
	if err := draft.Review(base); err != nil {
		return nil, err
	}
	grown, err := tree.grow(updates)
	if err != nil {
		return nil, err
	}
	p := &prepared{updates: updates, tree: grown.tree}
	for _, u := range updates {
		if u.file != nil {
			p.objects = append(p.objects, pack.Object{ID: object.ParseID(u.file.Blob), Kind: object.Blob, Content: u.file.Text})
		}
	}
	c := object.Commit{Tree: grown.root, Author: draft.Author, Committer: draft.Committer, Message: draft.message()}
	if base.Head.Commit != "" {
		c.Parents = []object.ID{object.ParseID(base.Head.Commit)}
	}
	content := object.EncodeCommit(c)
	id := object.Hash(object.CommitKind, content)
	p.objects = append(append(p.objects, grown.made...), pack.Object{ID: id, Kind: object.CommitKind, Content: content})
	// Decode it again, so that it is what a reader of git finds: dates to the
	// second, for example.
	if c, err = object.DecodeCommit(content); err != nil {
		return nil, err
	}
	p.commit = Commit{
		SHA:       id.String(),
		Sequence:  base.Head.Sequence + 1,
		Parent:    base.Head.Commit,
		Author:    c.Author,
		Committer: c.Committer,
		Message:   c.Message,
		Touched:   touches,
		Tree:      c.Tree.String(),
		Once:      draft.Once,
	}
	return p, nil
}

// difference leaves out what is so already.
func difference(base *Snapshot, changes []Change) ([]update, []Touch) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	var updates []update
	var touches []Touch
	for _, c := range changes {
		old, existed := base.File(c.Path)
		u := update{path: c.Path}
		t := Touch{Path: c.Path, Created: !existed}
		if c.Content != nil {
			t.Blob = object.Hash(object.Blob, c.Content).String()
			t.Text = slices.Clone(c.Content)
			u.file = &File{Path: c.Path, Blob: t.Blob, Text: t.Text}
		}
		if old.Blob != t.Blob { // both "" when what is not there is deleted
			updates, touches = append(updates, u), append(touches, t)
		}
	}
	return updates, touches
}

// pack puts the objects of the commits into a pack and tells the commits where they
// lie. The pack's name depends on the fence that the writer has read.
func (c *chain) pack(fence int64) (*pack.Pack, error) {
	var objects []pack.Object
	for _, p := range c.commits {
		objects = append(objects, p.objects...)
	}
	made, err := pack.Encode(objects)
	if err != nil {
		return nil, err
	}
	made.Name = pack.NameAt(made.Name, fence)
	for _, p := range c.commits {
		p.commit.Pack = made.Name
		for i, t := range p.commit.Touched {
			if place, ok := made.Places[object.ParseID(t.Blob)]; ok {
				t.Pack, t.Offset, t.Length = made.Name, place.Offset, place.Length
				p.commit.Touched[i] = t
			}
		}
	}
	return made, nil
}

// size is about how many bytes a commit adds to a pack.
func (p *prepared) size() (n int) {
	for _, o := range p.objects {
		n += len(o.Content)
	}
	return n
}

// store stores the pack of a commit and beside it, when one is due, the snapshot
// that the commit leads to, whose name it returns. A snapshot that could not be
// stored is not named: a later commit brings one.
func (r *Repository) store(ctx context.Context, from Head, c *Commit, made *pack.Pack, next *Snapshot, brief func(context.Context, *Snapshot) []byte) (base string, err error) {
	var storing sync.WaitGroup
	ledger, based := r.ledger.(Checkpointed)
	keeper, keeps := r.objects.(Checkpoints)
	if based && keeps && ledger.Due(from, c) {
		storing.Go(func() {
			var briefs []byte
			if brief != nil {
				briefs = brief(ctx, next)
			}
			name, content, err := EncodeSnapshot(next, briefs)
			if err == nil && keeper.PutSnapshot(ctx, name, content) == nil {
				base = name
			}
		})
	}
	err = r.objects.PutPack(ctx, made.Name, made.Bytes, made.Index)
	storing.Wait()
	return base, err
}

// Refused reports whether an error of a ledger means that nothing was written.
func Refused(err error) bool {
	return errors.Is(err, ErrMoved) || errors.Is(err, ErrBusy) || errors.Is(err, ErrFailed) || errors.Is(err, ErrNewer)
}

// What it takes to learn from the ledger how an Advance ended.
const (
	patience = 5 * time.Second
	attempts = 3
	pause    = 100 * time.Millisecond
	longest  = time.Hour // no commit takes that long
)

// resolveOutcome finds out how an Advance ended, by asking for it once more: a commit
// that has landed is a success, and one that has not lands now or never will.
func resolveOutcome(ctx context.Context, cause error, advance func(context.Context) (Head, error)) (Head, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var err error
	for range attempts {
		var head Head
		if head, err = advance(ctx); err == nil {
			return head, nil
		}
		if errors.Is(err, ErrMoved) {
			return Head{}, err
		}
		if errors.Is(err, ErrNewer) {
			break // which says nothing of how it was before
		}
		if backoff.Sleep(ctx, pause) != nil {
			break
		}
	}
	return Head{}, fmt.Errorf("%w: %w; asked again: %w", ErrUnknownOutcome, cause, err)
}

// onto makes the snapshot that the commit leads to, given the place that it
// gets in the history.
func (p *prepared) onto(base *Snapshot, sequence int64) *Snapshot {
	by := p.commit
	by.Sequence, by.Touched, by.Base, by.Versions, by.Rows, by.Once = sequence, nil, "", "", nil, nil
	updates := make([]update, len(p.updates))
	for i, u := range p.updates {
		updates[i] = update{path: u.path}
		if u.file != nil {
			file := *u.file
			file.Last = &by
			updates[i].file = &file
		}
	}
	head := Head{Commit: by.SHA, Sequence: sequence, Access: base.Head.Access, Fence: base.Head.Fence, Index: base.Head.Index}
	s := &Snapshot{Head: head, Files: merge(base.Files, updates), tree: p.tree, treeKnown: true, briefs: base.briefs, seekAt: base.seekAt}
	return s.weigh(textsOf(updates))
}

package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Repository is one workspace's versioned documents. It is safe for
// concurrent use.
type Repository struct {
	ledger  Ledger
	objects Objects
	memory  memory
	loading chan struct{} // holds one of those who read
	// The head that was last found to hold more than is read, and the error: who
	// asks for it again does not cost what that took. Held by loading.
	refused Head
	refusal error
}

// New makes a repository of a ledger and the objects it speaks of.
func New(ledger Ledger, objects Objects) *Repository {
	return &Repository{ledger: ledger, objects: objects, memory: memory{lru.New[string, *Snapshot](maxRemembered)}, loading: make(chan struct{}, 1)}
}

// Bytes is about what the repository holds in memory, for the owner of many.
func (r *Repository) Bytes() int64 { return r.memory.bytes() }

// Snapshot returns everything at a head, from memory when it can. Of those
// who ask for the same new head at once, one reads and the others wait for
// it. Files that are lost are looked for again from time to time. For a head
// that a forced push has taken out of the history it may be ErrMoved.
func (r *Repository) Snapshot(ctx context.Context, head Head) (*Snapshot, error) {
	if s, ok := r.memory.get(head); ok && !s.isDue() {
		return s, nil
	}
	select {
	case r.loading <- struct{}{}:
		defer func() { <-r.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, ok := r.memory.get(head)
	if ok && !s.isDue() {
		return s, nil
	}
	if !ok {
		version := head
		version.Access = 0
		if r.refusal != nil && r.refused == version {
			return nil, r.refusal
		}
		var err error
		if s, err = r.load(ctx, head); err != nil {
			if errors.As(err, new(*TooLarge)) && !errors.Is(err, ErrBusy) {
				r.refused, r.refusal = version, err
			}
			return nil, err
		}
	}
	if s.isDue() {
		s = s.seek(ctx, r.objects)
	}
	r.memory.put(s)
	return s, nil
}

// farthest is how many commits are followed at most. Beyond that it is
// cheaper to read everything.
const farthest = 1000

// errAnew: the snapshot is no part of the head's history, or so much was written since
// that everything is read.
var errAnew = errors.New("too much has changed")

func (r *Repository) load(ctx context.Context, head Head) (*Snapshot, error) {
	if head.Commit == "" {
		return &Snapshot{Head: head}, nil
	}
	reload, farthest := r.rebuild, head.Sequence-farthest
	if _, based := r.ledger.(Checkpointed); based {
		reload, farthest = r.fromBase, head.Base.Follow
	}
	if base := r.memory.before(head); base != nil && base.Head.Commit != "" && base.Head.Sequence >= farthest {
		commits, err := r.ledger.Since(ctx, head, base.Head.Sequence)
		if err != nil {
			err = fmt.Errorf("following the history from %s to %s: %w", base.Head.Commit, head.Commit, err)
		}
		var s *Snapshot
		if err == nil {
			s, err = r.apply(ctx, base, head, commits)
		}
		if !errors.Is(err, errAnew) && !errors.Is(err, ErrMoved) {
			return s, err
		}
	}
	// What is remembered shares no text with what is read again, and would be
	// counted as if it did.
	r.memory.snapshots.Clear()
	return reload(ctx, head)
}

// rebuild reads everything.
func (r *Repository) rebuild(ctx context.Context, head Head) (*Snapshot, error) {
	var tree Tree
	var treeErr error
	var reading sync.WaitGroup
	reading.Go(func() { tree, treeErr = r.objects.Tree(ctx, head) })
	last, err := r.ledger.LastTouches(ctx, head)
	reading.Wait()
	// Both count: where an object is missing, the ledger may know that the head
	// is no longer one.
	if err := errors.Join(err, treeErr); err != nil {
		return nil, fmt.Errorf("reading the workspace at %s: %w", head.Commit, err)
	}
	return SnapshotOf(head, tree, last), nil
}

// SnapshotOf makes a snapshot of a commit's tree and of who touched its files
// last, by path. A file that the ledger knows nothing of is as old as the head,
// by nobody.
func SnapshotOf(head Head, tree Tree, last map[string]Commit) *Snapshot {
	s := &Snapshot{Head: head, Files: LayoutFiles(tree), treeKnown: true}
	s.tree = Tree{Root: tree.Root, Folders: tree.Folders}
	commits := map[string]*Commit{}
	for i := range s.Files {
		f := &s.Files[i]
		by := last[f.Path]
		if by.SHA == "" {
			by = Commit{SHA: head.Commit, Sequence: head.Sequence}
		}
		shared := commits[by.SHA]
		if shared == nil {
			by.Touched = nil
			shared = &by
			commits[by.SHA] = shared
		}
		f.Text, f.Err, f.Last = tree.Files[f.Path], tree.Unread[f.Path], shared
	}
	return s.weigh(0)
}

// History returns a page of history, newest first.
func (r *Repository) History(ctx context.Context, head Head, page Page) ([]Commit, error) {
	return r.ledger.History(ctx, head, page)
}

// At returns a file as it was in the commit that a revision names, in full or
// abbreviated to at least four digits, and the commit's full SHA, which it
// returns with ErrAbsent too. A file without text is a *workspace.Unread.
func (r *Repository) At(ctx context.Context, head Head, path, revision string) (string, []byte, error) {
	sha, file, err := r.fileAt(ctx, head, path, revision)
	if err == nil && file == nil {
		err = ErrAbsent
	}
	if err == nil && file.Err != nil {
		err = file.Err
	}
	if err != nil {
		return sha, nil, err
	}
	return sha, file.Text, nil
}

// fileAt is a file in a commit, nil where that has none.
func (r *Repository) fileAt(ctx context.Context, head Head, path, revision string) (sha string, f *File, err error) {
	sha, touch, err := r.ledger.At(ctx, head, path, revision)
	if errors.Is(err, ErrAbsent) || err == nil && touch.Blob == "" {
		return sha, nil, nil
	}
	if err != nil {
		return sha, nil, err
	}
	f = &File{Path: path, Blob: touch.Blob, Last: &Commit{SHA: sha}}
	var ok bool
	if f.Text, ok = r.memory.text(path, touch.Blob); !ok {
		f.Text, f.Err, err = textOf(r.objects.Blob(ctx, touch))
	}
	return sha, f, err
}

// What is taken back of the head to come to a commit of the past. Beyond that it
// is cheaper to read everything.
const (
	maxTakenBack  = 200 // commits
	maxFilesTaken = 24
	// fewTakenBack is how many commits are looked at first: a longer page may reach
	// an import, whose rows are large.
	fewTakenBack = 20
)

// Past returns everything at the commit that a revision names, as At takes it. Of
// who touched a file last it does not always tell, and it is not remembered.
func (r *Repository) Past(ctx context.Context, head Head, revision string) (*Snapshot, error) {
	now, err := r.Snapshot(ctx, head)
	if err != nil || revision == head.Commit {
		return now, err
	}
	if s, err := r.takeBack(ctx, now, revision); s != nil || err != nil {
		return s, err
	}
	sha, _, err := r.ledger.At(ctx, head, workspace.File, revision)
	if err != nil && !errors.Is(err, ErrAbsent) {
		return nil, err
	}
	if sha != revision {
		return r.Past(ctx, head, sha)
	}
	tree, err := r.objects.Tree(ctx, Head{Commit: sha})
	if err != nil {
		return nil, fmt.Errorf("reading the workspace at %s: %w", sha, err)
	}
	return SnapshotOf(Head{Commit: sha}, tree, nil), nil
}

// takeBack is a snapshot without the commits after one; nil where those are many,
// or no line.
func (r *Repository) takeBack(ctx context.Context, now *Snapshot, sha string) (*Snapshot, error) {
	if !object.IsID(sha) {
		return nil, nil
	}
	var commits []Commit
	end := -1
	for _, limit := range []int{fewTakenBack, maxTakenBack} {
		var err error
		if commits, err = r.ledger.History(ctx, now.Head, Page{Limit: limit}); err != nil {
			return nil, err
		}
		end = slices.IndexFunc(commits, func(c Commit) bool { return c.SHA == sha })
		if end >= 0 || len(commits) < limit {
			break
		}
	}
	if end < 0 {
		return nil, nil
	}
	since := slices.Clone(commits[:end])
	slices.Reverse(since)
	touched := lastUpdates(since)
	if !leads(since, Head{Commit: sha, Sequence: commits[end].Sequence}, now.Head) || len(touched) > maxFilesTaken {
		return nil, nil
	}
	updates := make([]update, len(touched))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchWidth)
	for i, t := range touched {
		group.Go(func() (err error) {
			updates[i].path = t.touch.Path
			_, updates[i].file, err = r.fileAt(ctx, now.Head, t.touch.Path, sha)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s := &Snapshot{Head: Head{Commit: sha, Sequence: commits[end].Sequence}, Files: merge(now.Files, updates)}
	return s.weigh(textsOf(updates)), nil
}

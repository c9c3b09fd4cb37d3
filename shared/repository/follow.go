package repository

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository/object"
)

// apply brings a snapshot up to a later head by the commits in between.
func (r *Repository) apply(ctx context.Context, base *Snapshot, head Head, commits []Commit) (*Snapshot, error) {
	if !leads(commits, base.Head, head) {
		return nil, errAnew
	}
	updates, err := r.fetch(ctx, base, lastUpdates(commits))
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Head: head, Files: merge(base.Files, updates), briefs: base.briefs, seekAt: base.seekAt}
	if s.weigh(textsOf(updates)); s.texts > MaxTexts {
		return nil, &TooLarge{s.texts, MaxTexts}
	}
	if len(commits) == 0 {
		s.tree, s.treeKnown = base.knownTree()
	} else if tree, known := base.knownTree(); known {
		grown, err := tree.grow(updates)
		// Otherwise the commits also did what their rows do not tell.
		if err == nil && grown.root.String() == commits[len(commits)-1].Tree {
			s.tree, s.treeKnown = grown.tree, true
		}
	}
	return s, nil
}

// leads reports whether commits are an unbroken way from one head to another.
func leads(commits []Commit, from, to Head) bool {
	at := from
	for _, c := range commits {
		if c.Parent != at.Commit || c.Sequence != at.Sequence+1 {
			return false
		}
		at.Commit, at.Sequence = c.SHA, c.Sequence
	}
	return at.Commit == to.Commit && at.Sequence == to.Sequence
}

// touched is the last that happened to a file.
type touched struct {
	touch Touch
	by    *Commit
}

// lastUpdates returns what commits did last to each file, by path.
func lastUpdates(commits []Commit) []touched {
	last := map[string]touched{}
	for _, c := range commits {
		by := c
		by.Touched = nil
		for _, t := range c.Touched {
			last[t.Path] = touched{t, &by}
		}
	}
	all := make([]touched, 0, len(last))
	for _, path := range slices.Sorted(maps.Keys(last)) {
		all = append(all, last[path])
	}
	return all
}

const (
	manyBlobs  = 256 // for more, everything is read
	fetchWidth = 8   // blobs read at once
)

// fetch reads the texts that the base does not have.
func (r *Repository) fetch(ctx context.Context, base *Snapshot, last []touched) ([]update, error) {
	updates := make([]update, len(last))
	var missing []int
	for i, t := range last {
		updates[i].path = t.touch.Path
		if t.touch.Blob == "" {
			continue
		}
		updates[i].file = &File{Path: t.touch.Path, Blob: t.touch.Blob, Last: t.by}
		f, ok := base.File(t.touch.Path)
		switch {
		case ok && f.Blob == t.touch.Blob:
			updates[i].file.Text, updates[i].file.Err = f.Text, f.Err
		case t.touch.Text != nil && object.Hash(object.Blob, t.touch.Text).String() == t.touch.Blob:
			updates[i].file.Text = t.touch.Text
		default:
			missing = append(missing, i)
		}
	}
	if len(missing) > manyBlobs {
		return nil, errAnew
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchWidth)
	for _, i := range missing {
		group.Go(func() (err error) {
			if updates[i].file.Text, updates[i].file.Err, err = textOf(r.objects.Blob(ctx, last[i].touch)); err != nil {
				return fmt.Errorf("reading %s: %w", last[i].touch.Path, err)
			}
			return nil
		})
	}
	return updates, group.Wait()
}

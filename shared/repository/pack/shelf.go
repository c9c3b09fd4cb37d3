package pack

import (
	"bytes"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// shelf holds the trees that the next one may be a version of: one for each
// folder that was seen lately, since a tree replaces the version that it was
// stored as a difference from.
type shelf struct {
	trees []shelved // the latest last
}

type shelved struct {
	content []byte
	offset  int64
	depth   int // deltas to go through until a whole object
}

const (
	shelfLength  = 16
	deepest      = 50 // as git: what a reader has to go through
	largestTree  = 8 << 20
	smallestTree = 100
)

// put writes a tree, as a difference where that pays.
func (s *shelf) put(w *writer, id plumbing.Hash, content []byte) error {
	tree := shelved{content: content, offset: w.offset}
	if len(content) < smallestTree || len(content) > largestTree {
		return w.whole(id, plumbing.TreeObject, content)
	}
	i := s.nearest(content)
	if i < 0 {
		s.add(tree)
		return w.whole(id, plumbing.TreeObject, content)
	}
	base := s.trees[i]
	s.trees = slices.Delete(s.trees, i, i+1)
	difference := splice(base.content, content)
	made, err := Apply(base.content, difference)
	if base.depth == deepest || err != nil || !bytes.Equal(made, content) {
		s.add(tree)
		return w.whole(id, plumbing.TreeObject, content)
	}
	tree.depth = base.depth + 1
	s.add(tree)
	return w.delta(id, base.offset, difference)
}

func (s *shelf) add(tree shelved) {
	if len(s.trees) == shelfLength {
		s.trees = slices.Delete(s.trees, 0, 1)
	}
	s.trees = append(s.trees, tree)
}

// nearest finds the tree that shares most with content; -1 if none shares at
// least half.
func (s *shelf) nearest(content []byte) int {
	best, most := -1, len(content)/2
	for i, tree := range s.trees {
		front, back := sharedEnds(tree.content, content)
		if front+back > most {
			best, most = i, front+back
		}
	}
	return best
}

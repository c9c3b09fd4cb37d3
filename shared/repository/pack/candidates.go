package pack

import (
	"bytes"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// candidates holds the trees that the next one may be a version of: one for each
// folder that was seen lately, since a tree replaces the version that it was
// stored as a difference from.
type candidates struct {
	trees []candidate // the latest last
}

type candidate struct {
	content []byte
	offset  int64
	depth   int // deltas to go through until a whole object
}

const (
	maxCandidates = 16
	deepest       = 50 // as git: what a reader has to go through
	largestTree   = 8 << 20
	smallestTree  = 100
)

// put writes a tree, as a difference where that pays.
func (c *candidates) put(w *writer, id plumbing.Hash, content []byte) error {
	tree := candidate{content: content, offset: w.offset}
	if len(content) < smallestTree || len(content) > largestTree {
		return w.whole(id, plumbing.TreeObject, content)
	}
	i := c.nearest(content)
	if i < 0 {
		c.add(tree)
		return w.whole(id, plumbing.TreeObject, content)
	}
	base := c.trees[i]
	c.trees = slices.Delete(c.trees, i, i+1)
	difference := splice(base.content, content)
	made, err := Apply(base.content, difference)
	if base.depth == deepest || err != nil || !bytes.Equal(made, content) {
		c.add(tree)
		return w.whole(id, plumbing.TreeObject, content)
	}
	tree.depth = base.depth + 1
	c.add(tree)
	return w.delta(id, base.offset, len(difference), deflate(difference))
}

func (c *candidates) add(tree candidate) {
	if len(c.trees) == maxCandidates {
		c.trees = slices.Delete(c.trees, 0, 1)
	}
	c.trees = append(c.trees, tree)
}

// nearest finds the tree that shares most with content; -1 if none shares at
// least half.
func (c *candidates) nearest(content []byte) int {
	best, most := -1, len(content)/2
	for i, tree := range c.trees {
		front, back := sharedEnds(tree.content, content)
		if front+back > most {
			best, most = i, front+back
		}
	}
	return best
}

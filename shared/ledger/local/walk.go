package local

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"svc.example/svc/shared/repository"
)

// walk finds the commits that came by another way than Advance.
type walk struct {
	trees *trees
	// known are commits that need not be walked to, and are not wanted.
	known func(oid) bool
	// earlier gives the row of a commit that was in an earlier history, to
	// spare reading it again. It may be nil.
	earlier func(oid) (row, bool)
	// progress hears now and then how many commits have been read.
	progress func(commits int)

	nodes map[oid]*node
}

// node is a commit on the way to its row.
type node struct {
	id, tree oid
	date     int64
	parents  []oid
	row      row  // whole, or without touches
	whole    bool // the row was in an earlier history
	children int  // that have not been put in order yet
	arrival  int
}

const progressStep = 1000

// rows returns the rows of all commits that a head reaches and that are not
// known, in the order of git rev-list --date-order --reverse.
func (w *walk) rows(ctx context.Context, head oid) ([]row, error) {
	w.nodes = map[oid]*node{}
	if err := w.collect(ctx, head); err != nil {
		return nil, err
	}
	ordered := w.order(head)
	rows := make([]row, 0, len(ordered))
	for i, n := range ordered {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := w.finish(n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.asHead(i == len(ordered)-1))
		w.report(i + 1)
	}
	return rows, nil
}

func (w *walk) report(commits int) {
	if w.progress != nil && commits%progressStep == 0 {
		w.progress(commits)
	}
}

// collect reads every commit on the way from the head to what is known.
func (w *walk) collect(ctx context.Context, head oid) error {
	for open := []oid{head}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if w.known(id) || w.nodes[id] != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := w.read(id)
		if err != nil {
			return err
		}
		w.nodes[id] = n
		open = append(open, n.parents...)
	}
	for _, n := range w.nodes {
		for _, parent := range n.parents {
			if p := w.nodes[parent]; p != nil {
				p.children++
			}
		}
	}
	return nil
}

func (w *walk) read(id oid) (*node, error) {
	if w.earlier != nil {
		if r, ok := w.earlier(id); ok {
			c := r.commit(0)
			return &node{id: id, tree: r.tree(), date: c.Committer.When.Unix(), parents: r.parents(), row: r, whole: true}, nil
		}
	}
	c, err := w.trees.commit(id)
	if err != nil {
		return nil, err
	}
	n := &node{id: id, tree: parseID(c.Tree), date: c.Committer.When.Unix()}
	for _, parent := range c.Parents {
		if p := parseID(parent); !slices.Contains(n.parents, p) {
			n.parents = append(n.parents, p)
		}
	}
	n.row = headerOf(repository.Commit{
		SHA: id.String(), Tree: c.Tree, Author: c.Author, Committer: c.Committer, Message: c.Message,
	}, n.parents)
	return n, nil
}

// order puts the nodes in git's order by date, oldest first: no commit comes
// before one of its parents.
func (w *walk) order(head oid) []*node {
	first := w.nodes[head]
	if first == nil {
		return nil
	}
	ordered := make([]*node, 0, len(w.nodes))
	ready := &byDate{first}
	for arrivals := 1; ready.Len() > 0; {
		n := heap.Pop(ready).(*node)
		ordered = append(ordered, n)
		for _, parent := range n.parents {
			p := w.nodes[parent]
			if p == nil {
				continue
			}
			if p.children--; p.children == 0 {
				p.arrival = arrivals
				arrivals++
				heap.Push(ready, p)
			}
		}
	}
	slices.Reverse(ordered)
	return ordered
}

// finish makes the row of a commit whole.
func (w *walk) finish(n *node) (row, error) {
	if n.whole {
		return n.row, nil
	}
	parents := make([]oid, len(n.parents))
	for i, parent := range n.parents {
		tree, err := w.treeOf(parent)
		if err != nil {
			return nil, err
		}
		parents[i] = tree
	}
	touches, err := w.trees.touches(n.tree, parents)
	if err != nil {
		return nil, err
	}
	return n.row.withTouches(touches), nil
}

func (w *walk) treeOf(commit oid) (oid, error) {
	if n := w.nodes[commit]; n != nil && n.tree != (oid{}) {
		return n.tree, nil
	}
	c, err := w.trees.commit(commit)
	return parseID(c.Tree), err
}

// byDate is a heap with the youngest commit on top, and of two of one second
// the one that arrived first, as in git.
type byDate []*node

func (h byDate) Len() int { return len(h) }

func (h byDate) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].date, h[i].date), cmp.Compare(h[i].arrival, h[j].arrival)) < 0
}

func (h byDate) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *byDate) Push(n any) { *h = append(*h, n.(*node)) }

func (h *byDate) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

package revwalk

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"svc.example/svc/shared/repository"
)

// Walk goes through the commits that a head reaches. R is what its user makes
// of a commit before it is known what the commit touched: all commits are read
// before the first one has its turn, so it should be small.
type Walk[R any] struct {
	Trees *Trees
	// Begin makes the beginning of a row of a commit that was read.
	Begin func(c repository.Commit, parents []ID) R
	// Known are commits that need not be walked to, and are not wanted. nil:
	// none.
	Known func(ID) bool
	// Earlier gives the node of a commit that was met in an earlier walk, to
	// spare reading it again. It may be nil.
	Earlier func(ID) (Node[R], bool)

	nodes map[ID]*Node[R]
}

// Node is a commit on the way to its row.
type Node[R any] struct {
	ID, Tree ID
	Date     int64 // the committer's, in seconds
	Parents  []ID
	Row      R
	Whole    bool // from an earlier walk: what it touched is in the row

	children int // that have not been put in order yet
	arrival  int
}

// Each calls for the commits that a head reaches and that are not known, in the
// order of git rev-list --date-order --reverse, with what each one touched. It
// touches what differs from all its parents. A node that is Whole comes without
// touches.
func (w *Walk[R]) Each(ctx context.Context, head ID, each func(n *Node[R], touched []repository.Touch) error) error {
	w.nodes = map[ID]*Node[R]{}
	if err := w.collect(ctx, head); err != nil {
		return err
	}
	for _, n := range w.order(head) {
		if err := ctx.Err(); err != nil {
			return err
		}
		touched, err := w.touched(n)
		if err != nil {
			return err
		}
		if err := each(n, touched); err != nil {
			return err
		}
	}
	return nil
}

// Len is how many commits there are to tell of, once Each tells of them.
func (w *Walk[R]) Len() int { return len(w.nodes) }

// collect reads every commit on the way from the head to what is known.
func (w *Walk[R]) collect(ctx context.Context, head ID) error {
	for open := []ID{head}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if w.nodes[id] != nil || w.Known != nil && w.Known(id) {
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
		open = append(open, n.Parents...)
	}
	for _, n := range w.nodes {
		for _, parent := range n.Parents {
			if p := w.nodes[parent]; p != nil {
				p.children++
			}
		}
	}
	return nil
}

func (w *Walk[R]) read(id ID) (*Node[R], error) {
	if w.Earlier != nil {
		if n, ok := w.Earlier(id); ok {
			n.Whole = true
			return &n, nil
		}
	}
	c, err := w.Trees.Commit(id)
	if err != nil {
		return nil, err
	}
	n := &Node[R]{ID: id, Tree: ParseID(c.Tree), Date: c.Committer.When.Unix()}
	for _, parent := range c.Parents {
		if p := ParseID(parent); !slices.Contains(n.Parents, p) {
			n.Parents = append(n.Parents, p)
		}
	}
	told := repository.Commit{SHA: id.String(), Tree: c.Tree, Author: c.Author, Committer: c.Committer, Message: c.Message}
	if len(n.Parents) > 0 {
		told.Parent = n.Parents[0].String()
	}
	n.Row = w.Begin(told, n.Parents)
	return n, nil
}

// order puts the nodes in git's order by date, oldest first: no commit comes
// before one of its parents.
func (w *Walk[R]) order(head ID) []*Node[R] {
	first := w.nodes[head]
	if first == nil {
		return nil
	}
	ordered := make([]*Node[R], 0, len(w.nodes))
	ready := &byDate[R]{first}
	for arrivals := 1; ready.Len() > 0; {
		n := heap.Pop(ready).(*Node[R])
		ordered = append(ordered, n)
		for _, parent := range n.Parents {
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

func (w *Walk[R]) touched(n *Node[R]) ([]repository.Touch, error) {
	if n.Whole {
		return nil, nil
	}
	parents := make([]ID, len(n.Parents))
	for i, parent := range n.Parents {
		if known := w.nodes[parent]; known != nil && known.Tree != (ID{}) {
			parents[i] = known.Tree
			continue
		}
		c, err := w.Trees.Commit(parent)
		if err != nil {
			return nil, err
		}
		parents[i] = ParseID(c.Tree)
	}
	return w.Trees.Touches(n.Tree, parents)
}

// byDate is a heap with the youngest commit on top, and of two of one second
// the one that arrived first, as in git.
type byDate[R any] []*Node[R]

func (h byDate[R]) Len() int { return len(h) }

func (h byDate[R]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].Date, h[i].Date), cmp.Compare(h[i].arrival, h[j].arrival)) < 0
}

func (h byDate[R]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *byDate[R]) Push(n any) { *h = append(*h, n.(*Node[R])) }

func (h *byDate[R]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

package revwalk

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Walk goes through the commits that a head reaches. R is what its user makes
// of a commit before it is known what the commit touched: all commits are read
// before the first one has its turn, so it should be small.
type Walk[R any] struct {
	Trees *Trees
	// Begin makes the beginning of a row of a commit that was read.
	Begin func(c repository.Commit, parents []object.ID) R
	// Known are commits that need not be walked to, and are not wanted. nil:
	// none.
	Known func(object.ID) bool
	// Earlier gives the node of a commit that was met in an earlier walk, to
	// spare reading it again. It may be nil.
	Earlier func(object.ID) (Node[R], bool)
	// Beside, if there is one, makes Trees for another goroutine: what commits
	// touched is then found on all processors, while others are still read. With adds
	// it to the row, so that it need not be held until the commit is told.
	Beside func() *Trees
	With   func(row R, touched []repository.Touch) R

	nodes   map[object.ID]*Node[R]
	waiting map[object.ID][]*Node[R] // children, by the parent that has not been read
}

// Node is a commit on the way to its row.
type Node[R any] struct {
	ID, Tree object.ID
	Date     int64 // the committer's, in seconds
	Parents  []object.ID
	Row      R
	Whole    bool // what it touched is in the row

	before   []object.ID // its parents' trees; a zero id stands for one that has to be read
	unread   int         // parents that are to be read
	children int         // that have not been put in order yet
}

// Each calls for the commits that a head reaches and that are not known, in the
// order of git rev-list --date-order --reverse, with what each one touched. It
// touches what differs from all its parents. A node that is Whole comes without
// touches.
func (w *Walk[R]) Each(ctx context.Context, head object.ID, each func(n *Node[R], touched []repository.Touch) error) error {
	w.nodes, w.waiting = map[object.ID]*Node[R]{}, map[object.ID][]*Node[R]{}
	readied := func([]*Node[R]) error { return nil }
	finished := readied
	if w.Beside != nil {
		readied, finished = w.finders(ctx)
	}
	some, err := w.collect(ctx, head, readied)
	if err = cmp.Or(finished(some), err); err != nil {
		return err
	}
	for _, n := range w.order(head) {
		if err := ctx.Err(); err != nil {
			return err
		}
		touched, err := w.touched(w.Trees, n)
		if err != nil {
			return err
		}
		if err := each(n, touched); err != nil {
			return err
		}
	}
	return nil
}

// finders find out what commits touched that are handed to them, and add it to
// their rows. The first hands them over: a goroutine for each processor is there
// from the first time. The second waits for all, and sees to the last ones itself.
func (w *Walk[R]) finders(ctx context.Context) (hand, finish func([]*Node[R]) error) {
	all, others := errgroup.WithContext(ctx)
	handed := make(chan []*Node[R])
	find := func(ctx context.Context, t *Trees, some []*Node[R]) error {
		for _, n := range some {
			if n.Whole {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			touched, err := w.touched(t, n)
			if err != nil {
				return err
			}
			n.Row, n.Whole = w.With(n.Row, touched), true
		}
		return nil
	}
	begin := sync.OnceFunc(func() {
		for range runtime.GOMAXPROCS(0) {
			trees := w.Beside()
			all.Go(func() error {
				for some := range handed {
					if err := find(others, trees, some); err != nil {
						return err
					}
				}
				return nil
			})
		}
	})
	hand = func(some []*Node[R]) error {
		begin()
		select {
		case handed <- some:
			return nil
		case <-others.Done():
			return context.Cause(others)
		}
	}
	finish = func(some []*Node[R]) error {
		close(handed)
		return cmp.Or(all.Wait(), find(ctx, w.Trees, some))
	}
	return hand, finish
}

// Len is how many commits there are to tell of, once Each tells of them.
func (w *Walk[R]) Len() int { return len(w.nodes) }

// together is how many commits are handed over at once: those that follow each
// other have most trees in common.
const together = 256

// collect reads every commit on the way from the head to what is known. Those whose
// parents' trees are known too are handed over, but for the last ones, which it
// returns.
func (w *Walk[R]) collect(ctx context.Context, head object.ID, hand func([]*Node[R]) error) (some []*Node[R], err error) {
	known := func(id object.ID) bool { return w.Known != nil && w.Known(id) }
	ready := func(n *Node[R]) {
		n.before = make([]object.ID, len(n.Parents))
		for i, parent := range n.Parents {
			if p := w.nodes[parent]; p != nil {
				n.before[i] = p.Tree
			}
		}
		some = append(some, n)
	}
	for open := []object.ID{head}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if w.nodes[id] != nil || known(id) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := w.read(id)
		if err != nil {
			return nil, err
		}
		w.nodes[id] = n
		for _, parent := range n.Parents {
			if w.nodes[parent] == nil && !known(parent) {
				n.unread++
				w.waiting[parent] = append(w.waiting[parent], n)
				open = append(open, parent)
			}
		}
		if n.unread == 0 {
			ready(n)
		}
		for _, child := range w.waiting[id] {
			if child.unread--; child.unread == 0 {
				ready(child)
			}
		}
		delete(w.waiting, id)
		if len(some) >= together {
			if err := hand(some); err != nil {
				return nil, err
			}
			some = nil
		}
	}
	for _, n := range w.nodes {
		for _, parent := range n.Parents {
			if p := w.nodes[parent]; p != nil {
				p.children++
			}
		}
	}
	return some, nil
}

func (w *Walk[R]) read(id object.ID) (*Node[R], error) {
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
	n := &Node[R]{ID: id, Tree: c.Tree, Date: c.Committer.When.Unix()}
	for _, parent := range c.Parents {
		if !slices.Contains(n.Parents, parent) {
			n.Parents = append(n.Parents, parent)
		}
	}
	told := repository.Commit{SHA: id.String(), Tree: c.Tree.String(), Author: c.Author, Committer: c.Committer, Message: c.Message}
	if len(n.Parents) > 0 {
		told.Parent = n.Parents[0].String()
	}
	n.Row = w.Begin(told, n.Parents)
	return n, nil
}

// order puts the nodes in git's order by date, oldest first: no commit comes
// before one of its parents.
func (w *Walk[R]) order(head object.ID) []*Node[R] {
	first := w.nodes[head]
	if first == nil {
		return nil
	}
	ordered := make([]*Node[R], 0, len(w.nodes))
	ready := []*Node[R]{first} // the youngest last, and of two of one second the one that came first, as in git
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		ordered = append(ordered, n)
		for _, parent := range n.Parents {
			p := w.nodes[parent]
			if p == nil {
				continue
			}
			if p.children--; p.children == 0 {
				at, _ := slices.BinarySearchFunc(ready, p.Date, func(n *Node[R], date int64) int { return cmp.Compare(n.Date, date) })
				ready = slices.Insert(ready, at, p)
			}
		}
	}
	slices.Reverse(ordered)
	return ordered
}

func (w *Walk[R]) touched(t *Trees, n *Node[R]) ([]repository.Touch, error) {
	if n.Whole {
		return nil, nil
	}
	for i, parent := range n.Parents {
		if n.before[i] == (object.ID{}) {
			c, err := t.Commit(parent)
			if err != nil {
				return nil, err
			}
			n.before[i] = c.Tree
		}
	}
	return t.Touches(n.Tree, n.before)
}

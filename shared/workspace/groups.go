package workspace

import "slices"

// groups are the sets of segments that all lead to one another, those of one
// segment only if it refers to itself. Each is in the order of the items. This
// is Tarjan's algorithm with a path of its own in place of recursion.
func (g *graph) groups() [][]int32 {
	t := tarjan{graph: g, order: make([]int32, len(g.items)), low: make([]int32, len(g.items)), open: make([]bool, len(g.items))}
	for n := range g.items {
		if t.order[n] == 0 {
			t.walk(int32(n))
		}
	}
	slices.SortFunc(t.found, func(a, b []int32) int { return int(a[0] - b[0]) })
	return t.found
}

type tarjan struct {
	*graph
	order []int32 // when a segment was reached, from 1
	low   []int32 // the earliest open segment that it leads to
	open  []bool  // its group is not complete
	stack []int32 // the open segments
	path  []visit
	count int32
	found [][]int32
}

// visit is a segment on the path and how many of its references are done.
type visit struct {
	segment int32
	done    int
}

func (t *tarjan) walk(start int32) {
	t.enter(start)
	for len(t.path) > 0 {
		top := &t.path[len(t.path)-1]
		if top.done == len(t.edges[top.segment]) {
			t.leave(top.segment)
			continue
		}
		next := t.edges[top.segment][top.done]
		top.done++
		if t.order[next] == 0 {
			t.enter(next)
		} else if t.open[next] {
			t.low[top.segment] = min(t.low[top.segment], t.order[next])
		}
	}
}

func (t *tarjan) enter(n int32) {
	t.count++
	t.order[n], t.low[n], t.open[n] = t.count, t.count, true
	t.stack = append(t.stack, n)
	t.path = append(t.path, visit{segment: n})
}

func (t *tarjan) leave(n int32) {
	t.path = t.path[:len(t.path)-1]
	if len(t.path) > 0 {
		parent := t.path[len(t.path)-1].segment
		t.low[parent] = min(t.low[parent], t.low[n])
	}
	if t.low[n] != t.order[n] {
		return
	}
	begin := len(t.stack) - 1
	for t.stack[begin] != n {
		begin--
	}
	group := slices.Clone(t.stack[begin:])
	t.stack = t.stack[:begin]
	for _, member := range group {
		t.open[member] = false
	}
	if len(group) > 1 || slices.Contains(t.edges[n], n) {
		slices.Sort(group)
		t.found = append(t.found, group)
	}
}

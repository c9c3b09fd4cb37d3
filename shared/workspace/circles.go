package workspace

import (
	"math"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/problem"
)

// circle is a cycle among segments, at the criterion where it begins.
type circle struct {
	item  *Item
	issue document.Issue
}

// circles finds the segments that refer to each other in a circle: of every
// group of segments that all lead to one another, the shortest circle through
// the first. Its time grows with the number of references.
func circles(ws *Workspace) []circle {
	g := newGraph(ws)
	var found []circle
	for _, group := range g.groups() {
		path := shortestCircle(group[0], func(n int32) []int32 { return g.edges[n] })
		keys := make([]string, len(path))
		for i, n := range path {
			keys[i] = g.items[n].Key
		}
		item := g.items[group[0]]
		found = append(found, circle{item, circleIssue(item, keys)})
	}
	return found
}

// circleThrough finds the shortest circle that a changed segment closes.
func (v *Verification) circleThrough(item *Item) []document.Issue {
	if item.Path != Path(document.Segment, item.Key) || v.together && v.straight() {
		return nil
	}
	path := shortestCircle(item.Key, func(key string) []string { return v.references(item, key) })
	if path == nil {
		return nil
	}
	return []document.Issue{circleIssue(item, path)}
}

// references are the segments that a segment refers to.
func (v *Verification) references(changed *Item, key string) []string {
	if key == changed.Key {
		return evaluation.SegmentsOf(changed.View.Default)
	}
	known, asked := v.segments[key]
	if !asked {
		if stored, found := v.index.ws.Item(document.Segment, key); found {
			known = evaluation.SegmentsOf(stored.Read().View.Default)
		}
		v.segments[key] = known
	}
	return known
}

// shortestCircle is the shortest way from a segment back to itself, or nil.
func shortestCircle[K comparable](start K, references func(K) []K) []K {
	from := map[K]K{} // where each was reached from
	for queue := []K{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range references(queue[0]) {
			if next == start {
				path := []K{queue[0]}
				for at := queue[0]; at != start; {
					at = from[at]
					path = append(path, at)
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[next]; !seen {
				from[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// circleIssue stands at the criterion that takes the first step.
func circleIssue(item *Item, path []string) document.Issue {
	path = append(path, path[0])
	pointer := ""
	for spot, criterion := range item.View.Criteria() {
		if key, ok := evaluation.SegmentOf(criterion); ok && key == path[1] {
			pointer = spot.Pointer() + "/valueToMatch"
			break
		}
	}
	return document.Issue{Code: problem.SegmentCircle, Pointer: pointer, Message: "the segments refer to each other in a circle: " + strings.Join(path, " -> ")}
}

// graph is the segments and the segments each refers to, by number.
type graph struct {
	items []*Item
	edges [][]int32
}

func newGraph(ws *Workspace) *graph {
	g := &graph{}
	number := map[string]int32{}
	for i := range ws.Items {
		stored := &ws.Items[i]
		if strings.HasPrefix(stored.Path, string(Segments)+"/") {
			number[stored.Key] = int32(len(g.items))
			g.items = append(g.items, stored.Read())
		}
	}
	for _, item := range g.items {
		var edges []int32
		for _, key := range evaluation.SegmentsOf(item.View.Default) {
			if to, ok := number[key]; ok {
				edges = append(edges, to)
			}
		}
		g.edges = append(g.edges, edges)
	}
	return g
}

// groups are the sets of segments that all lead to one another, those of one
// segment only if it refers to itself. Each is in the order of the items. This
// is Tarjan's algorithm.
func (g *graph) groups() (found [][]int32) {
	order := make([]int32, len(g.items)) // when a segment was reached, from 1
	low := make([]int32, len(g.items))   // the earliest open segment that it leads to
	var open []int32                     // whose groups are not complete
	count := int32(0)
	var reach func(n int32)
	reach = func(n int32) {
		count++
		order[n], low[n] = count, count
		begin := len(open)
		open = append(open, n)
		for _, next := range g.edges[n] {
			if order[next] == 0 {
				reach(next)
			}
			low[n] = min(low[n], low[next])
		}
		if low[n] < order[n] {
			return
		}
		group := slices.Clone(open[begin:])
		open = open[:begin]
		for _, member := range group {
			low[member] = math.MaxInt32 // complete
		}
		if len(group) > 1 || slices.Contains(g.edges[n], n) {
			slices.Sort(group)
			found = append(found, group)
		}
	}
	for n := range g.items {
		if order[n] == 0 {
			reach(int32(n))
		}
	}
	slices.SortFunc(found, func(a, b []int32) int { return int(a[0] - b[0]) })
	return found
}

package workspace

import (
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
// the first. Its time grows with the number of references, its stack not.
func circles(ws *Workspace) []circle {
	g := newGraph(ws)
	var found []circle
	for _, group := range g.groups() {
		if path := g.shortest(group[0]); path != nil {
			item := g.items[group[0]]
			found = append(found, circle{item, circleIssue(item, g.keys(path))})
		}
	}
	return found
}

// circleThrough finds the shortest circle that a changed segment closes.
func (v *Verification) circleThrough(item *Item) []document.Issue {
	if item.Path != Path(document.Segment, item.Key) || v.together && v.straight() {
		return nil
	}
	from := map[string]string{}
	queue := []string{item.Key}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, next := range v.references(item, key) {
			if next == item.Key {
				return []document.Issue{circleIssue(item, pathBack(from, item.Key, key))}
			}
			if _, seen := from[next]; !seen {
				from[next] = key
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// references are the segments that a segment refers to.
func (v *Verification) references(changed *Item, key string) []string {
	if key == changed.Key {
		return segmentReferences(changed)
	}
	known, asked := v.segments[key]
	if !asked {
		if stored, found := v.index.ws.Item(document.Segment, key); found {
			known = segmentReferences(stored.Read())
		}
		v.segments[key] = known
	}
	return known
}

// pathBack is the way from start to last, by where each was reached from.
func pathBack(from map[string]string, start, last string) []string {
	var path []string
	for key := last; key != start; key = from[key] {
		path = append(path, key)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}

// circleIssue stands at the criterion that takes the first step.
func circleIssue(item *Item, path []string) document.Issue {
	path = append(path, path[0])
	pointer := ""
	for spot, criterion := range item.View.Criteria() {
		if key, ok := segmentReference(criterion); ok && key == path[1] {
			pointer = spot.Pointer() + "/valueToMatch"
			break
		}
	}
	return document.Issue{Code: problem.SegmentCircle, Pointer: pointer, Message: "the segments refer to each other in a circle: " + strings.Join(path, " -> ")}
}

// segmentReferences are the keys of the segments that a segment's rules name.
// A segment has default rules only.
func segmentReferences(item *Item) []string {
	var keys []string
	for _, rule := range item.View.Default {
		for _, criterion := range rule.Criteria {
			if key, ok := segmentReference(criterion); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func segmentReference(c document.Criterion) (string, bool) {
	if c.Operator != evaluation.InSegment && c.Operator != evaluation.NotInSegment {
		return "", false
	}
	return operand(c.ValueToMatch)
}

// graph is the segments and whom each refers to, by their numbers.
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
		for _, key := range segmentReferences(item) {
			if to, ok := number[key]; ok {
				edges = append(edges, to)
			}
		}
		g.edges = append(g.edges, edges)
	}
	return g
}

func (g *graph) keys(path []int32) []string {
	keys := make([]string, len(path))
	for i, n := range path {
		keys[i] = g.items[n].Key
	}
	return keys
}

// shortest is the shortest circle through a segment, or nil.
func (g *graph) shortest(start int32) []int32 {
	from := make([]int32, len(g.items))
	for i := range from {
		from[i] = -1
	}
	queue := []int32{start}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, next := range g.edges[n] {
			if next == start {
				return back(from, start, n)
			}
			if from[next] < 0 {
				from[next] = n
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func back(from []int32, start, last int32) []int32 {
	path := []int32{last}
	for last != start {
		last = from[last]
		path = append(path, last)
	}
	slices.Reverse(path)
	return path
}

package workspace

import (
	"math"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/problem"
)

// relation is a way for documents to refer to each other, which must not come to a circle.
type relation struct {
	among      func(*Stored) bool // which documents may
	references func(*document.Document) []string
	criterion  func(document.Criterion) (key string, ok bool)
	pointer    string // to the key, in a criterion
	code       problem.Code
	words      string
}

var (
	ofSegments = relation{
		among:      func(s *Stored) bool { return strings.HasPrefix(s.Path, string(Segments)+"/") },
		references: func(doc *document.Document) []string { return evaluation.SegmentsOf(doc.Default) },
		criterion:  evaluation.SegmentOf, pointer: "/valueToMatch",
		code: problem.SegmentCircle, words: "the segments refer to each other in a circle: ",
	}
	// ofFlags is what asks for flags, in whichever environment.
	ofFlags = relation{
		among:      func(s *Stored) bool { return MayAsk(s.Text) },
		references: asked,
		criterion:  evaluation.FlagOf, pointer: "/propertyName",
		code: problem.PrerequisiteCircle, words: "the flags ask for each other in a circle: ",
	}
)

// circle is a cycle among documents, at the criterion where it begins.
type circle struct {
	item  *Item
	issue document.Issue
}

// circles finds the segments that refer to each other in a circle, and the flags that do.
func circles(ws *Workspace) []circle {
	return append(newGraph(ws, &ofSegments).circles(), newGraph(ws, &ofFlags).circles()...)
}

// circles are, of every group of documents that all lead to one another, the shortest
// circle through the first. Its time grows with the number of references.
func (g *graph) circles() []circle {
	var found []circle
	for _, group := range g.groups() {
		path := shortestCircle(group[0], func(n int32) []int32 { return g.edges[n] })
		keys := make([]string, len(path))
		for i, n := range path {
			keys[i] = g.items[n].Key
		}
		item := g.items[group[0]].Read()
		found = append(found, circle{item, g.circleIssue(item, keys)})
	}
	return found
}

// circleThrough finds the shortest circle that a changed segment or flag closes.
func (v *Verification) circleThrough(item *Item) []document.Issue {
	r := &ofSegments
	switch {
	case item.Path == Path(document.Flag, item.Key) && len(asked(item.View)) > 0:
		r = &ofFlags
	case item.Path != Path(document.Segment, item.Key):
		return nil
	}
	if v.together && v.straight() {
		return nil
	}
	path := shortestCircle(item.Key, func(key string) []string { return v.references(r, item, key) })
	if path == nil {
		return nil
	}
	return []document.Issue{r.circleIssue(item, path)}
}

// references are the segments or flags that one refers to.
func (v *Verification) references(r *relation, changed *Item, key string) []string {
	if key == changed.Key {
		return r.references(changed.View)
	}
	known, looked := v.known[key]
	if !looked {
		t := document.Segment
		if r == &ofFlags {
			t = document.Flag
		}
		if stored, found := v.index.ws.Item(t, key); found && r.among(stored) {
			known = r.references(stored.Read().View)
		}
		v.known[key] = known
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
func (r *relation) circleIssue(item *Item, path []string) document.Issue {
	path = append(path, path[0])
	return document.Issue{Code: r.code, Pointer: r.step(item, path[1]), Message: r.words + strings.Join(path, " -> ")}
}

// step is where a document refers to another.
func (r *relation) step(item *Item, to string) (pointer string) {
	for spot, criterion := range item.View.Criteria() {
		if key, ok := r.criterion(criterion); ok && key == to {
			return spot.Pointer() + r.pointer
		}
	}
	return ""
}

// graph is documents and those that each refers to, by number.
type graph struct {
	*relation
	keys  [][]string // that each refers to; the documents are decoded one at a time
	items []*Stored
	edges [][]int32
}

func newGraph(ws *Workspace, r *relation) *graph {
	g := &graph{relation: r}
	number := map[string]int32{}
	for i := range ws.Items {
		stored := &ws.Items[i]
		if r.among(stored) {
			number[stored.Key] = int32(len(g.items))
			g.items = append(g.items, stored)
			g.keys = append(g.keys, r.references(stored.Read().View))
		}
	}
	for _, keys := range g.keys {
		var edges []int32
		for _, key := range keys {
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

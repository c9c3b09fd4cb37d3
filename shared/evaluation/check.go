package evaluation

import (
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
)

// Finding is something in a document that Compile can do nothing with.
type Finding struct {
	Key string
	document.Issue
	// Fatal findings would serve something other than was meant: a regular
	// expression that does not compile, segments that refer to each other in
	// a circle. The others make a rule that never matches.
	Fatal bool
}

// Check finds what is wrong with the criteria of documents, in every
// environment, and cycles among their segments.
func Check(sources []Source) []Finding {
	c := newCompiler(sources)
	var findings []Finding
	for _, source := range sources {
		pointer := ""
		c.report = func(p problem) {
			findings = append(findings, Finding{source.Key, document.Issue{Pointer: pointer, Message: p.message}, p.fatal})
		}
		eachCriterion(source.Document, func(at string, criterion document.Criterion) {
			pointer = at
			c.needs([]document.Criterion{criterion})
		})
	}
	return append(findings, cycles(sources)...)
}

func eachCriterion(doc *document.Document, visit func(pointer string, criterion document.Criterion)) {
	list := func(scope string, rules []document.Rule) {
		for i, rule := range rules {
			for j, criterion := range rule.Criteria {
				visit(scope+"/rules/"+strconv.Itoa(i)+"/criteria/"+strconv.Itoa(j)+"/valueToMatch", criterion)
			}
		}
	}
	list("/default", doc.Default)
	for i, environment := range doc.Environments {
		list("/environments/"+strconv.Itoa(i), environment.Rules)
	}
}

// reference is one segment naming another, and where it does.
type reference struct {
	key     string
	pointer string
}

func references(doc *document.Document) []reference {
	var found []reference
	eachCriterion(doc, func(pointer string, criterion document.Criterion) {
		if criterion.Operator != inSegment && criterion.Operator != notInSegment {
			return
		}
		if key, ok := text(criterion.ValueToMatch); ok {
			found = append(found, reference{key, pointer})
		}
	})
	return found
}

// cycles finds segments that refer to each other in a circle, each circle
// once. It keeps its own stack, so that a chain of any length is walked.
func cycles(sources []Source) []Finding {
	w := walk{refs: map[string][]reference{}, state: map[string]mark{}}
	for _, source := range sources {
		if source.Document.Type == document.Segment {
			w.refs[source.Key] = references(source.Document)
		}
	}
	for _, source := range sources {
		if source.Document.Type == document.Segment && w.state[source.Key] == unseen {
			w.from(source.Key)
		}
	}
	return w.findings
}

// mostCircles bounds the report on a tangle: a thousand segments that all refer
// to each other make half a million circles.
const mostCircles = 20

type mark byte

const (
	unseen mark = iota
	onPath
	finished
)

type walk struct {
	refs     map[string][]reference
	state    map[string]mark
	path     []step
	findings []Finding
}

// step is a segment on the path and how many of its references are done.
type step struct {
	key  string
	done int
}

func (w *walk) from(key string) {
	w.enter(key)
	for len(w.path) > 0 {
		top := &w.path[len(w.path)-1]
		refs := w.refs[top.key]
		if top.done == len(refs) {
			w.state[top.key] = finished
			w.path = w.path[:len(w.path)-1]
			continue
		}
		ref := refs[top.done]
		top.done++
		w.follow(top.key, ref)
	}
}

func (w *walk) enter(key string) {
	w.state[key] = onPath
	w.path = append(w.path, step{key: key})
}

func (w *walk) follow(from string, ref reference) {
	if _, exists := w.refs[ref.key]; !exists {
		return
	}
	switch w.state[ref.key] {
	case unseen:
		w.enter(ref.key)
	case onPath:
		if len(w.findings) == mostCircles {
			return
		}
		w.findings = append(w.findings, Finding{from, document.Issue{
			Pointer: ref.pointer,
			Message: "the segments refer to each other in a circle: " + w.circle(ref.key),
		}, true})
	}
}

// circle writes the path from a segment back to itself.
func (w *walk) circle(key string) string {
	var names []string
	for _, s := range w.path {
		if len(names) > 0 || s.key == key {
			names = append(names, s.key)
		}
	}
	const most = 8
	if len(names) > most {
		names = append(names[:most:most], "… ("+strconv.Itoa(len(names)-most)+" more)")
	}
	return strings.Join(append(names, key), " -> ")
}

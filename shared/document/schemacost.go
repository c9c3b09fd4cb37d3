package document

import (
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
)

// Anyone who may write to the workspace can write a schema. A few lines of it can
// ask for any amount of work: alternatives that lead to alternatives double it
// with each level, and the library keeps an error for each that does not fit.
// So the work is worked out before any is done, in steps: how often which part
// of a schema is held against which part of a value, at most. A step takes some
// microseconds and, while errors are kept, some hundred bytes.
const (
	// maxSteps is how many steps the values of one document may take.
	maxSteps = 200_000
	// maxForms is how many parts of a schema may be held against one value at
	// one place, with all that they lead to.
	maxForms = 10_000
	// maxChain is how long a chain of these may be.
	maxChain = 256
)

// What else counts as a step.
const (
	membersAStep      = 8   // of an object or items of an array that are looked through
	bytesAStep        = 500 // of a text that is read, and copied for that
	formatBytes       = 50  // of a text that must have a format
	matchesAStep      = 20  // bytes of a text times instructions of an expression
	instructionsAStep = 10  // of an expression that is read
	literalsAStep     = 4   // parts of an enum or const that are compared
	unequalAStep      = 4   // parts of an array's items that must all differ
)

// Budget is the steps that are left to the values of one document.
type Budget struct {
	spent int
	of    *Allowance // nil for a document that is alone
}

// MaxAllSteps is how many steps all documents may take that one write has to
// check: as many as one of them does before it and after.
const MaxAllSteps = 2 * maxSteps

// Allowance is the steps that are left to all documents of a write.
type Allowance struct{ spent int }

// Budget is for one of the documents.
func (a *Allowance) Budget() *Budget { return &Budget{of: a} }

// Exceeded reports whether not all values were checked to the end.
func (a *Allowance) Exceeded() bool { return a.spent > MaxAllSteps }

// graph is what the work of a compiled schema follows from.
type graph struct {
	root *jsonschema.Schema
	all  []*jsonschema.Schema
	// anchors are where a $dynamicRef may lead, by its anchor; recursive is
	// where a $recursiveRef may.
	anchors   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
	// tracked reports whether some part asks for members that no other has looked at,
	// which makes every part take notes.
	tracked  bool
	literals map[*jsonschema.Schema]int // parts of enum and const
	numbers  map[*jsonschema.Schema]int // how many of these are numbers
}

// newGraph collects a schema's parts, with those that only a dynamic reference
// finds.
func newGraph(root *jsonschema.Schema, more []*jsonschema.Schema) *graph {
	g := &graph{root: root, anchors: map[string][]*jsonschema.Schema{}, literals: map[*jsonschema.Schema]int{}, numbers: map[*jsonschema.Schema]int{}}
	seen := map[*jsonschema.Schema]bool{}
	queue := append([]*jsonschema.Schema{root}, more...)
	for len(queue) > 0 {
		s := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		g.all = append(g.all, s)
		if s.DynamicAnchor != "" {
			g.anchors[s.DynamicAnchor] = append(g.anchors[s.DynamicAnchor], s)
		}
		if s.RecursiveAnchor {
			g.recursive = append(g.recursive, s)
		}
		if p, ours := s.Pattern.(*pattern); ours {
			p.most = s.MaxLength
		}
		g.tracked = g.tracked || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
		if s.Enum != nil {
			g.addLiteral(s, any(s.Enum.Values))
		}
		if s.Const != nil {
			g.addLiteral(s, *s.Const)
		}
		queue = append(append(queue, here(s)...), within(s)...)
		if s.DynamicRef != nil {
			queue = append(queue, s.DynamicRef.Ref)
		}
		queue = append(queue, s.RecursiveRef)
	}
	return g
}

// here are the parts that are held against the same value as a schema, but for
// those behind dynamic references.
func here(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
		slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dependency := range s.Dependencies {
		if part, ok := dependency.(*jsonschema.Schema); ok {
			parts = append(parts, part)
		}
	}
	return slices.DeleteFunc(parts, func(part *jsonschema.Schema) bool { return part == nil })
}

// within are the parts that are held against what a value holds.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := slices.Concat([]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains, s.Items2020, s.ContentSchema},
		s.PrefixItems, slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)))
	for _, part := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch part := part.(type) {
		case *jsonschema.Schema:
			parts = append(parts, part)
		case []*jsonschema.Schema:
			parts = append(parts, part...)
		}
	}
	return slices.DeleteFunc(parts, func(part *jsonschema.Schema) bool { return part == nil })
}

// dynamic are the parts one of which a dynamic reference leads to.
func (g *graph) dynamic(s *jsonschema.Schema) []*jsonschema.Schema {
	var parts []*jsonschema.Schema
	if d := s.DynamicRef; d != nil {
		parts = append(parts, d.Ref)
		if d.Anchor != "" {
			parts = append(parts, g.anchors[d.Anchor]...)
		}
	}
	if s.RecursiveRef != nil {
		parts = append(append(parts, s.RecursiveRef), g.recursive...)
	}
	return parts
}

// refusal finds a part that asks for too much of any value, whatever it is.
func (g *graph) refusal() (Issue, bool) {
	f := forms{graph: g, known: map[*jsonschema.Schema]extent{}}
	for _, s := range g.all {
		if f.of(s); f.found != nil {
			return *f.found, true
		}
	}
	return Issue{}, false
}

// forms counts the parts that are held against one value.
type forms struct {
	*graph
	known map[*jsonschema.Schema]extent
	found *Issue
}

// extent is how many parts there are, and how long their longest chain is.
type extent struct {
	forms, chain int
	open         bool // it is being worked out
}

func (f *forms) of(s *jsonschema.Schema) extent {
	if e, known := f.known[s]; known {
		if e.open {
			f.refuse(s, "the schema leads back to itself without going into the value")
		}
		return e
	}
	f.known[s] = extent{open: true}
	e := extent{forms: 1}
	for _, part := range here(s) {
		inner := f.of(part)
		e.forms, e.chain = e.forms+inner.forms, max(e.chain, inner.chain)
	}
	most := extent{}
	for _, part := range f.dynamic(s) {
		inner := f.of(part)
		most.forms, most.chain = max(most.forms, inner.forms), max(most.chain, inner.chain)
	}
	e.forms, e.chain = e.forms+most.forms, 1+max(e.chain, most.chain)
	switch {
	case f.found != nil:
	case e.forms > maxForms:
		f.refuse(s, fmt.Sprintf("one value would be held against more than %d forms here: alternatives (anyOf, oneOf, allOf, if) that lead to each other multiply", maxForms))
	case e.chain > maxChain:
		f.refuse(s, fmt.Sprintf("more than %d references and alternatives lead to one another here", maxChain))
	}
	f.known[s] = e
	return e
}

func (f *forms) refuse(s *jsonschema.Schema, message string) {
	if f.found == nil {
		f.found = &Issue{Pointer: fragment(s.Location), Message: message}
	}
}

// meter counts the steps of holding a value against a schema.
type meter struct {
	*graph
	spent int // by what came before, and by the parts that were looked at
	known map[application]int
	texts map[*jsontree.Node]string // that were decoded
	parts map[*jsontree.Node]int    // of the largest number within
	over  *Issue
}

// application is one part of a schema and one part of a value.
type application struct {
	schema *jsonschema.Schema
	value  *jsontree.Node
}

// place is where in a value the meter is.
type place struct {
	up    *place
	name  string
	depth int
}

func (p *place) pointer() string {
	if p == nil {
		return ""
	}
	return p.up.pointer() + jsontree.Pointer(p.name)
}

func (p *place) in(name string) *place {
	depth := 1
	if p != nil {
		depth = p.depth + 1
	}
	return &place{p, name, depth}
}

// measure works out how many steps a value takes, or says where it takes too
// many.
func (g *graph) measure(n *jsontree.Node, budget *Budget) *Issue {
	spent := budget.spent
	m := &meter{graph: g, spent: spent, known: map[application]int{}, texts: map[*jsontree.Node]string{}, parts: map[*jsontree.Node]int{}}
	if budget.of != nil && budget.of.Exceeded() {
		return &Issue{Message: fmt.Sprintf("takes more than %d steps to check, with all other values", MaxAllSteps)}
	}
	steps := m.of(g.root, n, nil)
	budget.spent += steps
	if budget.of != nil {
		budget.of.spent += m.spent - spent
	}
	return m.over
}

// of is how many steps a part of a schema takes over a part of a value, with
// all that it leads to.
func (m *meter) of(s *jsonschema.Schema, n *jsontree.Node, at *place) int {
	id := application{s, n}
	if steps, known := m.known[id]; known {
		return steps
	}
	steps := m.own(s, n, at)
	m.spent += steps
	if m.check(m.spent, s, at); m.over != nil {
		return 0
	}
	for _, part := range here(s) {
		steps = m.sum(steps, m.of(part, n, at))
	}
	most := 0
	for _, part := range m.dynamic(s) {
		most = max(most, m.of(part, n, at))
	}
	steps = m.sum(steps, most)
	switch n.Kind {
	case jsontree.Object:
		steps = m.members(s, n, at, steps)
	case jsontree.Array:
		steps = m.items(s, n, at, steps)
	}
	m.check(steps, s, at)
	m.known[id] = steps
	return steps
}

func (m *meter) sum(a, b int) int { return min(a+b, 2*maxSteps) }

func (m *meter) check(steps int, s *jsonschema.Schema, at *place) {
	if steps > maxSteps && m.over == nil {
		where := fragment(s.Location)
		if where == "" {
			where = "its root"
		}
		m.over = &Issue{Pointer: at.pointer(), Message: fmt.Sprintf(
			"takes more than %d steps to check: the schema asks for too much at %s", maxSteps, where)}
	}
}

// own is what a part takes by itself.
func (m *meter) own(s *jsonschema.Schema, n *jsontree.Node, at *place) int {
	compared := m.literals[s]
	if numbers := m.numbers[s]; numbers > 0 {
		compared += numbers * m.number(n)
	}
	steps := 1 + compared/literalsAStep
	if at != nil {
		steps += at.depth / 16 // an error has a copy of where it is
	}
	size := len(n.Members) + len(n.Items)
	steps += size / membersAStep
	if m.tracked {
		steps += size / 2
	}
	switch n.Kind {
	case jsontree.String:
		text, decoded := m.texts[n]
		if !decoded {
			text, _ = n.Text()
			m.texts[n] = text
		}
		steps += len(text) / bytesAStep
		if s.Format != nil {
			steps += len(text) / formatBytes
			if s.Format.Name == "regex" {
				steps += expression.Reading(text) / instructionsAStep
			}
		}
		if s.Pattern != nil {
			steps += matching(s.Pattern, text)
		}
	case jsontree.Number:
		steps += numberParts(n.Literal()) / literalsAStep
		if s.MultipleOf != nil {
			steps += (numberParts(n.Literal()) + ratParts(s.MultipleOf)) / literalsAStep
		}
	case jsontree.Object:
		for _, name := range s.Required {
			if n.Get(name) == nil {
				steps++
			}
		}
		if s.AdditionalProperties == false {
			steps += size
		}
		steps += len(s.PatternProperties) * size
	case jsontree.Array:
		if s.UniqueItems {
			looks := 10 // at each item, by an index
			if len(n.Items) <= fewItems {
				looks = len(n.Items) // all are compared with one another
			}
			if steps += parts(n, maxSteps*unequalAStep) * looks / unequalAStep; steps <= maxSteps {
				steps += collisions(n.Items)
			}
		}
	}
	return steps
}

// parts counts the nodes of a value, and what its texts come to, up to a number.
func parts(value *jsontree.Node, most int) (total int) {
	for n := range value.All() {
		text, _ := n.Text()
		if total += 1 + len(text)/literalBytes; n.Kind == jsontree.Number {
			total += numberParts(n.Literal()) - 1
		}
		if total > most {
			break
		}
	}
	return total
}

func (m *meter) members(s *jsonschema.Schema, n *jsontree.Node, at *place, steps int) int {
	for _, member := range n.Members {
		if m.over != nil {
			return steps
		}
		inner := at.in(member.Name)
		evaluated := false
		if part, named := s.Properties[member.Name]; named {
			evaluated = true
			steps = m.sum(steps, m.of(part, member.Value, inner))
		}
		for re, part := range s.PatternProperties {
			m.spent += matching(re, member.Name)
			if m.check(m.spent, s, at); m.over == nil && re.MatchString(member.Name) {
				evaluated = true
				steps = m.sum(steps, m.of(part, member.Value, inner))
			}
		}
		if part, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !evaluated {
			steps = m.sum(steps, m.of(part, member.Value, inner))
		}
		if part := s.UnevaluatedProperties; part != nil {
			steps = m.sum(steps, m.of(part, member.Value, inner))
		}
		if part := s.PropertyNames; part != nil {
			steps = m.sum(steps, m.of(part, jsontree.NewString(member.Name), inner))
		}
	}
	return steps
}

func (m *meter) items(s *jsonschema.Schema, n *jsontree.Node, at *place, steps int) int {
	of := itemParts(s)
	for i, item := range n.Items {
		if m.over != nil {
			return steps
		}
		for _, part := range of(i) {
			steps = m.sum(steps, m.of(part, item, at.in(fmt.Sprint(i))))
		}
	}
	return steps
}

// itemParts says which parts are held against the item at an index.
func itemParts(s *jsonschema.Schema) func(i int) []*jsonschema.Schema {
	list, isList := s.Items.([]*jsonschema.Schema)
	var every []*jsonschema.Schema
	for _, part := range []*jsonschema.Schema{s.Contains, s.UnevaluatedItems} {
		if part != nil {
			every = append(every, part)
		}
	}
	rest := s.Items2020
	if additional, ok := s.AdditionalItems.(*jsonschema.Schema); ok && isList {
		rest = additional
	}
	if one, ok := s.Items.(*jsonschema.Schema); ok {
		rest = one
	}
	list = append(slices.Clip(s.PrefixItems), list...)
	return func(i int) []*jsonschema.Schema {
		switch {
		case i < len(list):
			return append(slices.Clip(every), list[i])
		case rest != nil:
			return append(slices.Clip(every), rest)
		}
		return every
	}
}

package evaluation

import (
	"encoding/binary"
	"math"
	"regexp"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
)

// Compile compiles the rules that an environment serves: overrides, its own, then
// the default ones. Sources may come in any order; segments are told by their
// type. What makes no sense is compiled all the same: a criterion whose operand
// is of no use never holds, and a segment in a circle has no members.
func Compile(sources []Source, environment string) (*Snapshot, Content) {
	units, c := NewUnits(environment), NewCompiler()
	var content Content
	for _, source := range slices.SortedStableFunc(slices.Values(sources), func(a, b Source) int { return strings.Compare(a.Key, b.Key) }) {
		unit, answers := units.Make(source)
		c.Add(unit)
		for _, answer := range answers {
			answer.Item = len(content.Items)
			content.Answers = append(content.Answers, answer)
		}
		if source.Document.Type != document.Segment {
			content.Items = append(content.Items, source)
		}
	}
	return c.Snapshot(), content
}

// Compiler puts units together to a Snapshot.
type Compiler struct{ compiler *compiler }

// NewCompiler makes a Compiler.
func NewCompiler() Compiler {
	return Compiler{&compiler{
		out:       &Snapshot{slotByName: map[string]int{}, timeSlot: -1},
		segmentAt: map[string]int{},
		patterns:  map[string]*regexp.Regexp{},
		testAt:    map[*condition]int32{},
		listAt:    map[string]int32{},
	}}
}

// Add adds a document. Documents come in the order of their keys, segments at any
// time.
func (c Compiler) Add(unit *Unit) { c.compiler.add(unit) }

// Size is about how many bytes the Compiler takes, with what it has compiled so
// far.
func (c Compiler) Size() int64 {
	const told = 200 // a criterion or a list of them, to be told apart
	return c.compiler.out.Size() + told*int64(len(c.compiler.testAt)+len(c.compiler.listAt)) + numberBytes*int64(len(c.compiler.out.testIDs))
}

// Explainer is the Snapshot with what tells why it answers as it does. It ends the
// use of the Compiler. The environment is that of the units.
func (c Compiler) Explainer(environment string) *Explainer {
	return &Explainer{Snapshot: c.Snapshot(), environment: environment, segmentAt: c.compiler.segmentAt}
}

// Snapshot is what was compiled. It ends the use of the Compiler.
func (c Compiler) Snapshot() *Snapshot {
	c.compiler.meetPrerequisites()
	out := c.compiler.out
	out.lists = append(out.lists, int32(len(out.rules)))
	out.rules = append(out.rules, int32(len(out.testIDs)))
	slices.Sort(out.thresholds)
	out.thresholds = slices.Compact(out.thresholds)
	return out
}

type compiler struct {
	out       *Snapshot
	answered  int            // answers of the items before
	segmentAt map[string]int // of segments that were added, or that a rule names
	patterns  map[string]*regexp.Regexp
	compiled  int64 // instructions of all patterns
	testAt    map[*condition]int32
	listAt    map[string]int32 // by the numbers of its rules' tests
	list      []byte           // scratch
	// items are the units of those, and prerequisites what they ask of each other.
	items         []*Unit
	prerequisites []*prerequisite
}

func (c *compiler) add(u *Unit) {
	if u.segment {
		compiled := c.segment(u) // which may number others
		n := c.segmentNumber(u.key)
		c.out.segments[n] = compiled
		return
	}
	c.items = append(c.items, u)
	c.out.Keys = append(c.out.Keys, u.key)
	c.holdText(u.key)
	c.out.items = append(c.out.items, item{list: c.listOf(u.rules), first: int32(len(c.out.serves))})
	for i := range u.rules {
		r := &u.rules[i]
		serves := serving{answer: int32(c.answered)}
		if r.split != nil {
			c.out.splits = append(c.out.splits, c.split(u.key, r.split))
			serves.split = int32(len(c.out.splits))
		}
		c.out.serves = append(c.out.serves, serves)
		c.answered += r.answers()
	}
}

// listOf gives the criteria of rules their number.
func (c *compiler) listOf(rules []unitRule) int32 {
	tests, ends := len(c.out.testIDs), len(c.out.rules)
	c.list = c.list[:0]
	for i := range rules {
		c.out.rules = append(c.out.rules, int32(len(c.out.testIDs)))
		c.out.testIDs = c.appendTests(c.out.testIDs, rules[i].criteria)
		c.list = binary.AppendUvarint(c.list, uint64(len(rules[i].criteria)))
		for _, n := range c.out.testIDs[c.out.rules[len(c.out.rules)-1]:] {
			c.list = binary.AppendUvarint(c.list, uint64(n))
		}
	}
	if n, known := c.listAt[string(c.list)]; known {
		c.out.testIDs, c.out.rules = c.out.testIDs[:tests], c.out.rules[:ends]
		return n
	}
	n := int32(len(c.out.lists))
	c.out.lists = append(c.out.lists, int32(ends))
	c.listAt[string(c.list)] = n
	return n
}

// segmentNumber gives a segment its number. One that is never added has no
// rules, and so no members.
func (c *compiler) segmentNumber(key string) int {
	i, known := c.segmentAt[key]
	if !known {
		i = len(c.out.segments)
		c.segmentAt[key] = i
		c.out.segments = append(c.out.segments, segment{})
	}
	return i
}

// slot gives a property its number.
func (c *compiler) slot(propertyName string) int {
	name := slotName(propertyName)
	if i, ok := c.out.slotByName[name]; ok {
		return i
	}
	i := len(c.out.slots)
	c.out.slotByName[name] = i
	c.out.slots = append(c.out.slots, slot{})
	c.hold(slotBytes)
	c.holdText(name)
	if name == CurrentTime {
		c.out.timeSlot = i
	}
	return i
}

// turnsAt notes that a rule on the current time changes its answer at a
// moment: at it or just after it, depending on the operator.
func (c *compiler) turnsAt(slot int, at float64) {
	if slot == c.out.timeSlot && math.Abs(at) < 1<<53 {
		c.out.thresholds = append(c.out.thresholds, int64(math.Ceil(at)), int64(math.Floor(at))+1)
	}
}

// markVolatile notes a rule that reads the current time as a text.
func (c *compiler) markVolatile(slot int) {
	if slot == c.out.timeSlot {
		c.out.volatile = true
	}
}

func (c *compiler) segment(u *Unit) segment {
	s := segment{rules: make([]membershipRule, 0, len(u.rules))}
	for i := range u.rules {
		r := &u.rules[i]
		compiled := membershipRule{testIDs: c.appendTests(nil, r.criteria), member: *r.member, split: c.split(u.key, r.split)}
		s.rules = append(s.rules, compiled)
		c.hold(segmentRule + numberBytes*cap(compiled.testIDs) + max(smallestText, memberBytes*cap(compiled.member)))
	}
	return s
}

func (c *compiler) split(key string, w *weights) *split {
	if w == nil {
		return nil
	}
	s := &split{key: key, slot: -1, weights: w.arms, total: w.total, sole: len(w.arms) == 0 || slices.Max(w.arms) == w.total}
	c.hold(splitBytes + weightBytes*len(w.arms))
	if w.hashBy != "" {
		s.slot = c.slot(w.hashBy)
		c.markVolatile(s.slot)
		c.out.slots[s.slot].price.textByte += hashByte
	}
	return s
}

// appendTests appends the numbers of the tests that criteria come down to.
func (c *compiler) appendTests(ids []int32, criteria []*condition) []int32 {
	for _, criterion := range criteria {
		n, ok := c.testAt[criterion]
		if !ok {
			n = int32(len(c.out.tests))
			c.testAt[criterion] = n
			c.out.tests = append(c.out.tests, c.test(criterion))
		}
		ids = append(ids, n)
	}
	return ids
}

func (c *compiler) test(criterion *condition) test {
	switch {
	case criterion.link != nil:
		c.hold(testBytes)
		slot := c.slot(criterion.property)
		switch criterion.reads {
		case scalars:
			c.markVolatile(slot)
		case numbers:
			c.out.slots[slot].numeric = true
		}
		return criterion.link(c, slot)
	case criterion.isMember:
		i := c.segmentNumber(criterion.segment)
		c.hold(testBytes)
		wanted := criterion.wanted
		return func(f *Frame) bool { return f.inSegment(i) == wanted }
	case criterion.among != nil:
		return c.prerequisite(criterion)
	case criterion.always:
		return func(*Frame) bool { return true }
	}
	return never
}

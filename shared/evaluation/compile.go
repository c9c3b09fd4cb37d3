package evaluation

import (
	"crypto/sha256"
	"math"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
)

// Compile compiles the rules that an environment serves: its own, then the
// default ones. Sources may come in any order; segments are told by their
// type. What makes no sense is compiled all the same: a criterion whose operand
// is of no use never holds, and a segment in a circle has no members.
func Compile(sources []Source, environment string) (*Snapshot, Content) {
	c := NewCompiler(environment)
	var content Content
	for _, source := range slices.SortedStableFunc(slices.Values(sources), func(a, b Source) int { return strings.Compare(a.Key, b.Key) }) {
		content.Answers = append(content.Answers, c.Add(source)...)
		if source.Document.Type != document.Segment {
			content.Items = append(content.Items, source)
		}
	}
	return c.Snapshot(), content
}

// Compiler is Compile for a caller that has one document at a time in memory.
type Compiler struct{ compiler *compiler }

// NewCompiler makes a Compiler of the rules that an environment serves.
func NewCompiler(environment string) Compiler { return Compiler{newCompiler(environment)} }

// Add compiles a document and returns the values that it could serve, none for
// a segment. Documents come in the order of their keys, segments at any time.
func (c Compiler) Add(source Source) []Answer { return c.compiler.add(source) }

// Size is about how many bytes the Compiler takes, with what it has compiled so
// far.
func (c Compiler) Size() int64 {
	const told = 200 // a criterion, to be told apart
	return c.compiler.out.Size() + told*int64(len(c.compiler.testAt))
}

// Explainer is the Snapshot with what tells why it answers as it does. It ends the
// use of the Compiler.
func (c Compiler) Explainer() *Explainer {
	return &Explainer{Snapshot: c.Snapshot(), environment: c.compiler.environment, segmentAt: c.compiler.segmentAt}
}

// Snapshot is what was compiled. It ends the use of the Compiler.
func (c Compiler) Snapshot() *Snapshot {
	out := c.compiler.out
	out.begins = append(out.begins, int32(len(out.rules)))
	slices.Sort(out.thresholds)
	out.thresholds = slices.Compact(out.thresholds)
	return out
}

type compiler struct {
	out         *Snapshot
	environment string
	answered    int            // answers of the rules before
	segmentAt   map[string]int // of segments that were added, or that a rule names
	patterns    map[string]pattern
	compiled    int64          // instructions of all patterns
	expressions expression.Set // of the document that is being compiled
	testAt      map[testKey]int32
}

// testKey tells criteria apart. A long operand is there as its hash.
type testKey struct{ operator, property, operandType, operand string }

// longOperand is how many bytes an operand may have that is kept to tell
// criteria apart.
const longOperand = 64

func newCompiler(environment string) *compiler {
	return &compiler{
		out:         &Snapshot{slotByName: map[string]int{}, timeSlot: -1},
		environment: environment,
		segmentAt:   map[string]int{},
		patterns:    map[string]pattern{},
		testAt:      map[testKey]int32{},
	}
}

func (c *compiler) add(source Source) []Answer {
	if source.Document.Type == document.Segment {
		compiled := c.segment(source.Document, source.Key) // which may number others
		n := c.segmentNumber(source.Key)
		c.out.segments[n] = compiled
		return nil
	}
	c.out.Keys = append(c.out.Keys, source.Key)
	c.holdText(source.Key)
	return c.item(len(c.out.Keys)-1, source)
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

// word gives a text its number in a slot, from 1.
func (c *compiler) word(slot int, text string) int32 {
	words := c.out.slots[slot].words
	if number, ok := words[text]; ok {
		return number
	}
	if words == nil {
		words = map[string]int32{}
		c.out.slots[slot].words = words
		c.hold(wordsBytes)
	}
	if len(words) >= firstWords {
		c.hold(wordBytes)
	}
	c.holdText(text)
	words[text] = int32(len(words) + 1)
	return words[text]
}

// turnsAt notes that a rule on the current time changes its answer at a
// moment: at it or just after it, depending on the operator.
func (c *compiler) turnsAt(slot int, at float64) {
	if slot == c.out.timeSlot && math.Abs(at) < 1<<53 {
		c.out.thresholds = append(c.out.thresholds, int64(math.Ceil(at)), int64(math.Floor(at))+1)
	}
}

// readsTimeOddly notes a rule that reads the current time as a text.
func (c *compiler) readsTimeOddly(slot int) {
	if slot == c.out.timeSlot {
		c.out.volatile = true
	}
}

func (c *compiler) item(i int, source Source) []Answer {
	c.expressions = expression.Set{}
	own, _ := source.Document.Own(c.environment)
	c.out.begins = append(c.out.begins, int32(len(c.out.rules)))
	c.rules(source.Key, own)
	c.rules(source.Key, source.Document.Default)
	return answersOf(i, source.Document, c.environment)
}

// answersOf are the values that an item could serve, in the order in which its
// rules are numbered: one for each rule, or one for each arm of its split.
func answersOf(item int, doc *document.Document, environment string) (answers []Answer) {
	own, _ := doc.Own(environment)
	reason := Static
	if targets(own) || targets(doc.Default) {
		reason = TargetingMatch
	}
	list := func(rules []document.Rule, from RuleSource) {
		for i, r := range rules {
			answer := Answer{Item: item, Reason: reason, RuleSource: from, RuleIndex: i, ArmIndex: -1}
			if r.Value.Weighted == nil {
				answer.Value = r.Value
				answers = append(answers, answer)
				continue
			}
			answer.Reason = Split
			for arm, a := range r.Value.Weighted.Arms {
				answer.Value, answer.ArmIndex = a.Value, arm
				answers = append(answers, answer)
			}
		}
	}
	list(own, EnvironmentRules)
	list(doc.Default, DefaultRules)
	return answers
}

// targets says whether any rule looks at the context.
func targets(rules []document.Rule) bool {
	for _, r := range rules {
		for _, criterion := range r.Criteria {
			if criterion.Operator != document.AlwaysTrue {
				return true
			}
		}
	}
	return false
}

// rules compiles one of an item's lists.
func (c *compiler) rules(key string, list []document.Rule) {
	for _, r := range list {
		compiled := rule{from: int32(len(c.out.testIDs)), answer: int32(c.answered)}
		c.out.testIDs = append(c.out.testIDs, c.testIDs(r.Criteria)...)
		compiled.to = int32(len(c.out.testIDs))
		c.answered++
		if r.Value.Weighted != nil {
			compiled.split = c.split(key, r.Value.Weighted)
			c.answered += len(r.Value.Weighted.Arms) - 1
		}
		c.out.rules = append(c.out.rules, compiled)
	}
}

func (c *compiler) segment(doc *document.Document, key string) segment {
	s := segment{rules: make([]membershipRule, 0, len(doc.Default))}
	c.expressions = expression.Set{}
	for _, r := range doc.Default {
		compiled := membershipRule{testIDs: c.testIDs(r.Criteria)}
		if r.Value.Weighted == nil {
			boolean, _ := r.Value.Bool()
			compiled.member = []bool{boolean}
		} else {
			compiled.split = c.split(key, r.Value.Weighted)
			for _, arm := range r.Value.Weighted.Arms {
				boolean, _ := arm.Value.Bool()
				compiled.member = append(compiled.member, boolean)
			}
		}
		s.rules = append(s.rules, compiled)
		c.hold(segmentRule + numberBytes*cap(compiled.testIDs) + max(smallestText, memberBytes*cap(compiled.member)))
	}
	return s
}

func (c *compiler) split(key string, w *document.Weighted) *split {
	s := &split{key: key, slot: -1, weights: make([]float64, 0, len(w.Arms))}
	c.hold(splitBytes + weightBytes*len(w.Arms))
	if w.HashByProperty != "" {
		s.slot = c.slot(w.HashByProperty)
		c.readsTimeOddly(s.slot)
		c.out.slots[s.slot].price.textByte += hashByte
	}
	for _, arm := range w.Arms {
		s.weights = append(s.weights, float64(arm.Weight))
		s.total += float64(arm.Weight)
	}
	return s
}

// testIDs are the numbers of the tests that criteria come down to.
func (c *compiler) testIDs(criteria []document.Criterion) []int32 {
	var ids []int32
	for _, criterion := range criteria {
		if criterion.Operator == document.AlwaysTrue {
			continue
		}
		key := keyOf(criterion)
		if c.beyond(criterion) {
			key = testKey{} // not this document's, but perhaps another's
		}
		n, ok := c.testAt[key]
		if !ok {
			n = int32(len(c.out.tests))
			c.testAt[key] = n
			compiled := never
			if key != (testKey{}) {
				compiled, _ = c.test(criterion)
			}
			c.out.tests = append(c.out.tests, compiled)
		}
		ids = append(ids, n)
	}
	return ids
}

// beyond says whether a criterion's regular expression is more than what its
// document may have.
func (c *compiler) beyond(criterion document.Criterion) bool {
	if criterion.Operator != propMatches && criterion.Operator != propDoesNotMatch {
		return false
	}
	expression, ok := text(criterion.ValueToMatch)
	return ok && c.expressions.Check(expression) != nil
}

func keyOf(criterion document.Criterion) testKey {
	key := testKey{operator: criterion.Operator, property: criterion.PropertyName}
	if match := criterion.ValueToMatch; match != nil {
		key.operandType = string(match.Type)
		if match.Content != nil {
			operand := match.Content.Compact()
			if len(operand) > longOperand {
				sum := sha256.Sum256(operand)
				operand = sum[:]
			}
			key.operand = string(operand)
		}
	}
	return key
}

func (c *compiler) test(criterion document.Criterion) (test, problem) {
	switch criterion.Operator {
	case InSegment:
		return c.membership(criterion.ValueToMatch, true)
	case NotInSegment:
		return c.membership(criterion.ValueToMatch, false)
	}
	build, ok := operators[criterion.Operator]
	if !ok {
		return never, "" // one of a later day
	}
	c.hold(testBytes)
	return build(c, c.slot(criterion.PropertyName), criterion.ValueToMatch)
}

func (c *compiler) membership(operand *document.Value, wanted bool) (test, problem) {
	key, ok := text(operand)
	if !ok {
		return func(*Frame) bool { return !wanted }, "valueToMatch must be a string: the key of a segment"
	}
	i := c.segmentNumber(key)
	c.hold(testBytes)
	return func(f *Frame) bool { return f.inSegment(i) == wanted }, ""
}

package evaluation

import (
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
	c := newCompiler(sources)
	for i, key := range c.segmentKeys {
		c.out.segments[i] = c.segment(c.segmentDocs[i], key)
	}
	for _, source := range sources {
		if source.Document.Type != document.Segment {
			c.content.Items = append(c.content.Items, source)
		}
	}
	slices.SortFunc(c.content.Items, func(a, b Source) int { return strings.Compare(a.Key, b.Key) })
	for i, item := range c.content.Items {
		c.out.Keys = append(c.out.Keys, item.Key)
		c.item(i, environment)
	}
	c.out.begins = append(c.out.begins, int32(len(c.out.rules)))
	slices.Sort(c.out.thresholds)
	c.out.thresholds = slices.Compact(c.out.thresholds)
	return c.out, c.content
}

type compiler struct {
	out         *Snapshot
	content     Content
	segmentKeys []string
	segmentDocs []*document.Document
	segmentAt   map[string]int
	patterns    map[string]pattern
	expressions expression.Set // of the document that is being compiled
	testAt      map[testKey]int32
}

// testKey tells criteria apart.
type testKey struct{ operator, property, operandType, operand string }

func newCompiler(sources []Source) *compiler {
	c := &compiler{
		out:       &Snapshot{slotByName: map[string]int{}, timeSlot: -1},
		segmentAt: map[string]int{},
		patterns:  map[string]pattern{},
		testAt:    map[testKey]int32{},
	}
	for _, source := range sources {
		if source.Document.Type == document.Segment {
			c.segmentAt[source.Key] = len(c.segmentKeys)
			c.segmentKeys = append(c.segmentKeys, source.Key)
			c.segmentDocs = append(c.segmentDocs, source.Document)
		}
	}
	c.out.segments = make([]segment, len(c.segmentKeys))
	return c
}

// slot gives a property its number.
func (c *compiler) slot(propertyName string) int {
	name := slotName(propertyName)
	if i, ok := c.out.slotByName[name]; ok {
		return i
	}
	i := len(c.out.slots)
	c.out.slotByName[name] = i
	c.out.slots = append(c.out.slots, slot{words: map[string]int32{}})
	if name == CurrentTime {
		c.out.timeSlot = i
	}
	return i
}

// word gives a text its number in a slot, from 1.
func (c *compiler) word(slot int, text string) int32 {
	words := c.out.slots[slot].words
	if _, ok := words[text]; !ok {
		words[text] = int32(len(words) + 1)
	}
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

func (c *compiler) item(i int, environment string) {
	doc := c.content.Items[i].Document
	c.expressions = expression.Set{}
	own, _ := doc.Own(environment)
	reason := Static
	if targets(own) || targets(doc.Default) {
		reason = TargetingMatch
	}
	c.out.begins = append(c.out.begins, int32(len(c.out.rules)))
	c.rules(own, Answer{Item: i, Reason: reason, RuleSource: EnvironmentRules})
	c.rules(doc.Default, Answer{Item: i, Reason: reason, RuleSource: DefaultRules})
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

// rules compiles one of an item's lists. What the answers of all its rules have
// in common is given.
func (c *compiler) rules(list []document.Rule, answer Answer) {
	for i, r := range list {
		answer.RuleIndex = i
		c.out.rules = append(c.out.rules, c.rule(r, answer))
	}
}

func (c *compiler) rule(r document.Rule, answer Answer) rule {
	compiled := rule{from: int32(len(c.out.needs)), answer: int32(len(c.content.Answers))}
	c.out.needs = append(c.out.needs, c.needs(r.Criteria)...)
	compiled.to = int32(len(c.out.needs))
	if r.Value.Weighted == nil {
		answer.Value, answer.ArmIndex = r.Value, -1
		c.content.Answers = append(c.content.Answers, answer)
		return compiled
	}
	compiled.split = c.split(c.content.Items[answer.Item].Key, r.Value.Weighted)
	answer.Reason = Split
	for arm, a := range r.Value.Weighted.Arms {
		answer.Value, answer.ArmIndex = a.Value, arm
		c.content.Answers = append(c.content.Answers, answer)
	}
	return compiled
}

func (c *compiler) segment(doc *document.Document, key string) segment {
	var s segment
	c.expressions = expression.Set{}
	for _, r := range doc.Default {
		compiled := membershipRule{needs: c.needs(r.Criteria)}
		if r.Value.Weighted == nil {
			truth, _ := r.Value.Truth()
			compiled.member = []bool{truth}
		} else {
			compiled.split = c.split(key, r.Value.Weighted)
			for _, arm := range r.Value.Weighted.Arms {
				truth, _ := arm.Value.Truth()
				compiled.member = append(compiled.member, truth)
			}
		}
		s.rules = append(s.rules, compiled)
	}
	return s
}

func (c *compiler) split(key string, w *document.Weighted) *split {
	s := &split{key: key, slot: -1}
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

// needs are the numbers of the tests that criteria come down to.
func (c *compiler) needs(criteria []document.Criterion) []int32 {
	var needs []int32
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
		needs = append(needs, n)
	}
	return needs
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
			key.operand = string(match.Content.Compact())
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
	return build(c, c.slot(criterion.PropertyName), criterion.ValueToMatch)
}

func (c *compiler) membership(operand *document.Value, wanted bool) (test, problem) {
	key, ok := text(operand)
	i, found := c.segmentAt[key]
	if !ok || !found {
		var bad problem
		if !ok {
			bad = "valueToMatch must be a string: the key of a segment"
		}
		return func(*Frame) bool { return !wanted }, bad
	}
	return func(f *Frame) bool { return f.inSegment(i) == wanted }, ""
}

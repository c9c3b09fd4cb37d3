package evaluation

import (
	"crypto/sha256"
	"slices"
	"sync"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
)

// Unit is a document compiled by itself, without regard to others. It never
// changes, and holds no part of the document but what its criteria compare with.
type Unit struct {
	key     string
	segment bool
	rules   []unitRule
	values  *values // of a flag
}

// Size is about how many bytes a unit takes; none when there is none.
func (u *Unit) Size() int64 {
	const unit, rule, criterion, split, arm = 64, 40, 8, 56, 8
	if u == nil {
		return 0
	}
	size := unit + rule*cap(u.rules)
	for i := range u.rules {
		r := &u.rules[i]
		if size += criterion * cap(r.criteria); r.split != nil {
			size += split + arm*cap(r.split.arms)
		}
	}
	return int64(size)
}

type unitRule struct {
	criteria []*condition
	split    *weights
	member   *[]bool // of a segment: per arm; one for a plain value
}

// answers is how many values a rule can serve.
func (r *unitRule) answers() int {
	if r.split != nil {
		return len(r.split.arms)
	}
	return 1
}

// weights are those of a split's arms.
type weights struct {
	hashBy string
	arms   []float64
	total  float64
}

// condition is what a criterion comes down to: a test over the slot of a property, a
// membership in a segment, or what another flag serves. With none it never holds.
type condition struct {
	property string
	reads    reading
	link     binder

	isMember, wanted bool
	segment          string
	always           bool

	flag  string // its key; wanted says whether it serves one of these
	among []string
}

var neverHolds = &condition{}

// Units makes units for one environment. Criteria that are equal are one: targeting
// repeats itself from document to document. It may be used by several goroutines.
type Units struct {
	environment string
	mu          sync.Mutex
	criteria    map[testKey]*condition
	values      map[string]*values // that flags can serve, by all of them
	key         []byte             // scratch
}

// NewUnits makes Units for an environment.
func NewUnits(environment string) *Units {
	return &Units{environment: environment, criteria: map[testKey]*condition{}, values: map[string]*values{}}
}

// Size is about how many bytes it takes beside the units.
func (u *Units) Size() int64 {
	const criterion = 300 // with its place among the others, and what it compares with
	u.mu.Lock()
	defer u.mu.Unlock()
	return criterion * int64(len(u.criteria)+len(u.values))
}

// Keep forgets the criteria that a Compiler has not met: those of documents that
// are no more. The units that it has not met are not to be added to others after
// that.
func (u *Units) Keep(c Compiler) {
	const worth = 1000
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keepValues(c.compiler)
	if len(u.criteria) < 2*len(c.compiler.testAt)+worth {
		return
	}
	kept := map[testKey]*condition{}
	for key, criterion := range u.criteria {
		if _, met := c.compiler.testAt[criterion]; met {
			kept[key] = criterion
		}
	}
	u.criteria = kept
}

// testKey tells criteria apart. A long operand is there as its hash.
type testKey struct{ operator, property, operandType, operand string }

// longOperand is how many bytes an operand may have that is kept to tell
// criteria apart.
const longOperand = 64

// Make compiles a document, and returns the values that it could serve, none for a
// segment. Their Item is 0.
func (u *Units) Make(source Source) (*Unit, []Answer) {
	doc := source.Document
	m := making{units: u, unit: &Unit{key: source.Key, segment: doc.Type == document.Segment}}
	if m.unit.segment {
		m.unit.rules = make([]unitRule, 0, len(doc.Default))
		for _, r := range doc.Default {
			m.rule(r)
		}
		return m.unit, nil
	}
	own, _ := doc.Own(u.environment)
	m.unit.rules = make([]unitRule, 0, len(source.Overrides)+len(own)+len(doc.Default))
	for _, list := range [...][]document.Rule{source.Overrides, own, doc.Default} {
		for _, r := range list {
			m.rule(r)
		}
	}
	answers := answersOf(source.Overrides, own, doc.Default)
	if doc.Type == document.Flag {
		m.unit.values = u.valuesOf(answers)
	}
	return m.unit, answers
}

// making is the making of one unit.
type making struct {
	units       *Units
	unit        *Unit
	expressions expression.Set // of the document
}

// answersOf are the values that an item could serve, in the order in which its
// rules are numbered: one for each rule, or one for each arm of its split.
func answersOf(overrides, own, common []document.Rule) []Answer {
	answers := make([]Answer, 0, len(overrides)+len(own)+len(common))
	for i, r := range overrides {
		answers = append(answers, Answer{Value: r.Value, Reason: Overridden, RuleSource: OverrideRules, RuleIndex: i, ArmIndex: -1})
	}
	reason := Static
	if targets(own) || targets(common) {
		reason = TargetingMatch
	}
	list := func(rules []document.Rule, from RuleSource) {
		for i, r := range rules {
			answer := Answer{Reason: reason, RuleSource: from, RuleIndex: i, ArmIndex: -1}
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
	list(common, DefaultRules)
	return answers
}

// targets reports whether any rule looks at the context.
func targets(rules []document.Rule) bool {
	return slices.ContainsFunc(rules, func(r document.Rule) bool {
		return slices.ContainsFunc(r.Criteria, func(c document.Criterion) bool { return c.Operator != document.AlwaysTrue })
	})
}

func (m *making) rule(r document.Rule) {
	made := unitRule{criteria: m.criteria(r.Criteria)}
	var members []bool
	if w := r.Value.Weighted; w != nil {
		made.split = &weights{hashBy: w.HashByProperty, arms: make([]float64, 0, len(w.Arms))}
		for _, arm := range w.Arms {
			made.split.arms = append(made.split.arms, float64(arm.Weight))
			made.split.total += float64(arm.Weight)
			if m.unit.segment {
				member, _ := arm.Value.Bool()
				members = append(members, member)
			}
		}
	} else if m.unit.segment {
		member, _ := r.Value.Bool()
		members = []bool{member}
	}
	if made.split != nil && made.split.total == 0 { // it serves nothing
		made.criteria = append(made.criteria, neverHolds)
	}
	if m.unit.segment {
		made.member = &members
	}
	m.unit.rules = append(m.unit.rules, made)
}

// criteria are what those of a rule come down to, without those that always hold.
func (m *making) criteria(list []document.Criterion) []*condition {
	n := 0
	for _, c := range list {
		if c.Operator != document.AlwaysTrue {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	made := make([]*condition, 0, n)
	for _, c := range list {
		if c.Operator == document.AlwaysTrue {
			continue
		}
		key := keyOf(c)
		if _, asks := FlagOf(c); m.beyond(c) || asks && m.unit.segment {
			key = testKey{} // not this document's, but perhaps another's
		}
		made = append(made, m.units.condition(key, c))
	}
	return made
}

// beyond reports whether a criterion's regular expression is more than what its
// document may have.
func (m *making) beyond(criterion document.Criterion) bool {
	if criterion.Operator != Matches && criterion.Operator != DoesNotMatch {
		return false
	}
	expression, ok := text(criterion.ValueToMatch)
	return ok && m.expressions.Check(expression) != nil
}

func (u *Units) condition(key testKey, c document.Criterion) *condition {
	u.mu.Lock()
	made, known := u.criteria[key]
	u.mu.Unlock()
	if known {
		return made
	}
	made = &condition{}
	if key != (testKey{}) {
		made, _ = conditionOf(c)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if other, known := u.criteria[key]; known { // made meanwhile
		return other
	}
	u.criteria[key] = made
	return made
}

func keyOf(criterion document.Criterion) testKey {
	key := testKey{operator: criterion.Operator, property: criterion.PropertyName}
	if match := criterion.ValueToMatch; match != nil {
		key.operandType = string(match.Type)
		if match.Content != nil {
			operand := match.Content.AppendCompact(make([]byte, 0, 2*longOperand))
			if len(operand) > longOperand {
				sum := sha256.Sum256(operand)
				operand = sum[:]
			}
			key.operand = string(operand)
		}
	}
	return key
}

func conditionOf(c document.Criterion) (*condition, problem) {
	if c.Operator == InSegment || c.Operator == NotInSegment {
		key, ok := text(c.ValueToMatch)
		if !ok {
			return &condition{always: c.Operator == NotInSegment}, "valueToMatch must be a string: the key of a segment"
		}
		return &condition{isMember: true, segment: key, wanted: c.Operator == InSegment}, ""
	}
	if flag, ok := FlagOf(c); ok {
		list, bad := texts(c.ValueToMatch)
		return &condition{flag: flag, wanted: c.Operator == FlagIsOneOf, among: identities(list)}, bad
	}
	known, ok := operators[c.Operator]
	if !ok {
		return &condition{}, "" // an operator of a newer version
	}
	link, bad := known.build(c.ValueToMatch)
	return &condition{property: c.PropertyName, reads: known.reads, link: link}, bad
}

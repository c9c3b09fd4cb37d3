package evaluation

import (
	"maps"
	"math"
	"slices"

	"svc.example/svc/shared/document"
)

// Operators lists the operators that have a meaning, by name.
func Operators() []string {
	names := append(slices.Collect(maps.Keys(operators)), document.AlwaysTrue, InSegment, NotInSegment, FlagIsOneOf, FlagIsNotOneOf)
	slices.Sort(names)
	return names
}

// Known reports whether an operator has a meaning; an unknown one never matches.
func Known(operator string) bool {
	switch operator {
	case document.AlwaysTrue, InSegment, NotInSegment, FlagIsOneOf, FlagIsNotOneOf:
		return true
	}
	_, ok := operators[operator]
	return ok
}

// OperandProblem says what is wrong with a criterion's operand, when its
// operator can do nothing with it and the criterion says the same of every
// context, or "". The words do not repeat the operand.
func OperandProblem(criterion document.Criterion) string {
	if !Known(criterion.Operator) || criterion.Operator == document.AlwaysTrue {
		return ""
	}
	_, problem := conditionOf(criterion)
	return string(problem)
}

// Exclude reports whether no context has both of two criteria of one rule hold. It knows
// the plain cases alone.
func Exclude(a, b document.Criterion) bool {
	if segment, named := SegmentOf(a); named {
		other, too := SegmentOf(b)
		return too && segment == other && a.Operator != b.Operator
	}
	sameOperand := func() bool {
		return keyOf(document.Criterion{ValueToMatch: a.ValueToMatch}) == keyOf(document.Criterion{ValueToMatch: b.ValueToMatch})
	}
	if flag, named := FlagOf(a); named {
		other, too := FlagOf(b)
		return too && flag == other && a.Operator != b.Operator && sameOperand()
	}
	one, two := operators[a.Operator], operators[b.Operator]
	if a.PropertyName == "" || slotName(a.PropertyName) != slotName(b.PropertyName) || one.build == nil || two.build == nil {
		return false
	}
	if one.excludes == b.Operator || two.excludes == a.Operator {
		if one.reads == presences || sameOperand() {
			return true
		}
	}
	low, high := spanOf(a)
	otherLow, otherHigh := spanOf(b)
	return low > otherHigh || otherLow > high
}

// spanOf are the least and the greatest number that a criterion can hold for.
func spanOf(c document.Criterion) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	limit := math.NaN()
	if c.ValueToMatch != nil {
		operand := operandOf(c.ValueToMatch.Served())
		if at, ok := moment(&operand); ok {
			limit = at
		}
	}
	switch c.Operator {
	case "PROP_GREATER_THAN", "PROP_AFTER":
		low = math.Nextafter(limit, math.Inf(1))
	case "PROP_GREATER_THAN_OR_EQUAL":
		low = limit
	case "PROP_LESS_THAN", "PROP_BEFORE":
		high = math.Nextafter(limit, math.Inf(-1))
	case "PROP_LESS_THAN_OR_EQUAL":
		high = limit
	case "IN_INT_RANGE":
		if start, end, ok := bounds(c.ValueToMatch); ok {
			low, high = start.float, math.Nextafter(end.float, math.Inf(-1))
		}
	}
	return low, high
}

// Seconds reports whether a criterion compares a time with a number of seconds, as it
// seems: in milliseconds it would be a time before March 1973.
func Seconds(c document.Criterion) bool {
	timed := operators[c.Operator].reads == times || operators[c.Operator].reads == numbers && slotName(c.PropertyName) == CurrentTime
	if !timed || c.ValueToMatch == nil {
		return false
	}
	const earliest = 100_000_000_000
	suspect := func(n number) bool { return n.float > earliest/1000 && n.float < earliest }
	if start, end, ok := bounds(c.ValueToMatch); ok {
		return suspect(start) || suspect(end)
	}
	limit, ok := numeric(c.ValueToMatch)
	return ok && suspect(limit)
}

package evaluation

import (
	"maps"
	"slices"

	"svc.example/svc/shared/document"
)

// Operators lists the operators that have a meaning, by name.
func Operators() []string {
	names := append(slices.Collect(maps.Keys(operators)), document.AlwaysTrue, InSegment, NotInSegment)
	slices.Sort(names)
	return names
}

// Known says whether an operator has a meaning; an unknown one never matches.
func Known(operator string) bool {
	_, ok := operators[operator]
	return ok || operator == document.AlwaysTrue || operator == InSegment || operator == NotInSegment
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

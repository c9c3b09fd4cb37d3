package console_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/testing/must"
)

// The console's table of operators has those that are evaluated, and no others.
func TestTheConsoleHasEveryOperator(t *testing.T) {
	text := must.Get(os.ReadFile("app/operators.ts"))(t)
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^    ([A-Z_]+): \[`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	if want := evaluation.Operators(); !slices.Equal(names, want) {
		t.Errorf("the console has %q, and %q are evaluated", names, want)
	}
}

package evaluation

import "testing"

// timeOperands are, for the operators that can compare the current time, an operand with which
// the answer changes near 1000.
var timeOperands = map[string]struct{ operandType, operand string }{
	"PROP_IS_ONE_OF":                  {"string_list", `["1000"]`},
	"PROP_IS_NOT_ONE_OF":              {"string_list", `["1000"]`},
	"PROP_STARTS_WITH_ONE_OF":         {"string_list", `["100"]`},
	"PROP_DOES_NOT_START_WITH_ONE_OF": {"string_list", `["100"]`},
	"PROP_ENDS_WITH_ONE_OF":           {"string_list", `["00"]`},
	"PROP_DOES_NOT_END_WITH_ONE_OF":   {"string_list", `["00"]`},
	"PROP_CONTAINS_ONE_OF":            {"string_list", `["99"]`},
	"PROP_DOES_NOT_CONTAIN_ONE_OF":    {"string_list", `["99"]`},
	Matches:                           {"string", `"99"`},
	DoesNotMatch:                      {"string", `"99"`},
	"HIERARCHICAL_MATCH":              {"string", `"100"`},
	"IN_INT_RANGE":                    {"int_range", `{"start":999,"end":1001}`},
	"PROP_GREATER_THAN":               {"int", `1000`},
	"PROP_GREATER_THAN_OR_EQUAL":      {"int", `1000`},
	"PROP_LESS_THAN":                  {"int", `1000`},
	"PROP_LESS_THAN_OR_EQUAL":         {"int", `1000`},
	"PROP_BEFORE":                     {"int", `1000`},
	"PROP_AFTER":                      {"int", `1000`},
}

// TestAPhaseEndsWhereAnAnswerChanges for every operator: a poll's answer is reused within
// a phase.
func TestAPhaseEndsWhereAnAnswerChanges(t *testing.T) {
	for operator, of := range operators {
		with, timed := timeOperands[operator]
		if !timed {
			if of.reads != presences && of.reads != texted {
				t.Errorf("%s has no operand for the current time", operator)
			}
			continue
		}
		s := compile("test", source(t, flag("f", serve(criterion(operator, CurrentTime, with.operandType, with.operand), "yes"))))
		answer := func(now int64) int {
			f := s.NewFrame(now, noRandom)
			defer f.Release()
			return s.Evaluate(0, f)
		}
		changed := false
		for now := int64(990); now < 1010; now++ {
			if answer(now) != answer(now+1) {
				if changed = true; s.Phase(now) == s.Phase(now+1) {
					t.Errorf("%s: the answer changes at %d within a phase", operator, now+1)
				}
			}
		}
		if changed == (of.reads == texted) {
			t.Errorf("%s: the answer changes with the time: %v", operator, changed)
		}
	}
}

package evaluation

import "testing"

// examples are for each operator an operand, a property of which it holds and one of
// which it does not, and an operand for the current time, "" where none is of use.
var examples = map[string]struct{ operand, holds, fails, time string }{
	"PROP_IS_ONE_OF":                  {`["a"]`, `"a"`, `"b"`, `["1000"]`},
	"PROP_IS_NOT_ONE_OF":              {`["a"]`, `"b"`, `"a"`, `["1000"]`},
	"PROP_STARTS_WITH_ONE_OF":         {`["a"]`, `"ab"`, `"ba"`, `["100"]`},
	"PROP_DOES_NOT_START_WITH_ONE_OF": {`["a"]`, `"ba"`, `"ab"`, `["100"]`},
	"PROP_ENDS_WITH_ONE_OF":           {`["a"]`, `"ba"`, `"ab"`, `["00"]`},
	"PROP_DOES_NOT_END_WITH_ONE_OF":   {`["a"]`, `"ab"`, `"ba"`, `["00"]`},
	"PROP_CONTAINS_ONE_OF":            {`["a"]`, `"bab"`, `"b"`, `["99"]`},
	"PROP_DOES_NOT_CONTAIN_ONE_OF":    {`["a"]`, `"b"`, `"bab"`, `["99"]`},
	Matches:                           {`"^a+$"`, `"aa"`, `"b"`, `"99"`},
	DoesNotMatch:                      {`"^a+$"`, `"b"`, `"aa"`, `"99"`},
	"HIERARCHICAL_MATCH":              {`"/a"`, `"/a/b"`, `"/b"`, `"100"`},
	"IN_INT_RANGE":                    {`{"start":1,"end":3}`, `2`, `3`, `{"start":999,"end":1001}`},
	"PROP_GREATER_THAN":               {`1`, `2`, `1`, `1000`},
	"PROP_GREATER_THAN_OR_EQUAL":      {`1`, `1`, `0`, `1000`},
	"PROP_LESS_THAN":                  {`1`, `0`, `1`, `1000`},
	"PROP_LESS_THAN_OR_EQUAL":         {`1`, `1`, `2`, `1000`},
	"PROP_BEFORE":                     {`1000`, `999`, `"1970-01-01T00:00:01Z"`, `1000`},
	"PROP_AFTER":                      {`1000`, `"1970-01-01T00:00:02Z"`, `1000`, `1000`},
	"PROP_SEMVER_LESS_THAN":           {`"1.2.3"`, `"1.2.2"`, `"1.2.3"`, ``},
	"PROP_SEMVER_EQUAL":               {`"1.2.3"`, `"1.2.3"`, `"1.2.4"`, ``},
	"PROP_SEMVER_GREATER_THAN":        {`"1.2.3"`, `"1.10.0"`, `"1.2.3"`, ``},
	"IS_PRESENT":                      {`1`, `0`, `null`, ``},
	"IS_NOT_PRESENT":                  {`1`, `null`, `""`, ``},
}

// An operator that is compiled and reads its property as something that no slot was
// prepared for would never hold.
func TestEachOperatorHoldsAndFails(t *testing.T) {
	for operator := range operators {
		example, known := examples[operator]
		if !known {
			t.Errorf("%s has no example", operator)
			continue
		}
		operandType := map[byte]string{'[': "string_list", '"': "string", '{': "int_range"}[example.operand[0]]
		if operandType == "" {
			operandType = "int"
		}
		// Alone: no other criterion prepares the slot.
		s := compile("test", source(t, flag("f", serve(criterion(operator, "user.p", operandType, example.operand), "yes"))))
		for property, want := range map[string]string{example.holds: "yes", example.fails: "-"} {
			if got := served(t, s, "f", `{"user":{"p":`+property+`}}`); got != want {
				t.Errorf("%s %s of %s serves %s, want %s", operator, example.operand, property, got, want)
			}
		}
		if example.time != "" {
			holdTurns(t, operator, criterion(operator, CurrentTime, operandType, example.time))
		}
	}
}

// holdTurns says where an answer turns with the time and nobody would know.
func holdTurns(t *testing.T, operator, criterion string) {
	t.Helper()
	s := compile("test", source(t, flag("f", serve(criterion, "yes"))))
	answer := func(now int64) int {
		f := s.NewFrame(now, noRandom)
		defer f.Release()
		return s.Evaluate(0, f)
	}
	turned := false
	for now := int64(990); now < 1010; now++ {
		if answer(now) != answer(now+1) {
			if turned = true; s.Phase(now) == s.Phase(now+1) {
				t.Errorf("%s: the answer turns at %d within a phase", operator, now+1)
			}
		}
	}
	if texted := operators[operator].reads == texted; turned == texted {
		t.Errorf("%s: turns with the time: %v", operator, turned)
	}
}

package evaluation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// asks are criteria on another flag.
func asks(operator, flag string, values ...string) string {
	return criterion(operator, flag, "string_list", `["`+strings.Join(values, `","`)+`"]`)
}

func typed(key, valueType, value string) string {
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":%q,"default":{"rules":[{"criteria":[%s],"value":{"type":%q,"value":%s}}]}}`, key, valueType, always, valueType, value)
}

func TestPrerequisites(t *testing.T) {
	long := strings.Repeat("long ", 100)
	with := []Source{
		source(t, typed("bool", "bool", "true")), source(t, typed("int", "int", `"7"`)), source(t, typed("double", "double", "0.50")),
		source(t, typed("text", "string", `"a"`)), source(t, typed("long", "string", `"`+long+`"`)), source(t, typed("empty", "string", `""`)), source(t, typed("escaped", "string", `"a\u00e9\n"`)),
		source(t, typed("list", "string_list", `["a"]`)), source(t, typed("object", "json", `{"a":1}`)),
		source(t, flag("unmatched", serve(criterion("IS_PRESENT", "user.p", "string", `""`), "a"))),
		source(t, flag("no-rules", "")),
		source(t, flag("secret", `{"criteria":[],"value":{"type":"string","value":"a","confidential":true}}`)),
		source(t, flag("provided", `{"criteria":[],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":"A"}}}`)),
		source(t, `{"key":"config","type":"config","valueType":"string","default":{"rules":[`+serve(always, "a")+`]}}`),
		source(t, `{"key":"here","type":"feature_flag","valueType":"string","environments":[{"id":"test","rules":[`+serve(always, "a")+`]}],"default":{"rules":[`+serve(always, "b")+`]}}`),
	}
	for _, tt := range []struct {
		flag    string
		among   []string
		is, not bool
	}{
		{"bool", []string{"true"}, true, false}, {"bool", []string{"false"}, false, true}, {"bool", []string{"True", "1"}, false, true},
		{"int", []string{"7"}, true, false}, {"double", []string{"0.5"}, true, false}, {"double", []string{"0.50"}, false, true},
		{"text", []string{"b", "a"}, true, false}, {"text", []string{"ab"}, false, true},
		{"long", []string{long}, true, false}, {"long", []string{long + "x"}, false, true},
		{"escaped", []string{`a\u00e9\n`}, true, false}, {"escaped", []string{"a"}, false, true},
		{"empty", []string{""}, true, false}, {"empty", []string{"a"}, false, true},
		{"list", []string{"a"}, false, false}, {"object", []string{"a"}, false, false},
		{"unmatched", []string{"a"}, false, false}, {"no-rules", []string{"a"}, false, false}, {"missing", []string{"a"}, false, false},
		{"secret", []string{"a"}, false, false}, {"provided", []string{"a"}, false, false}, {"config", []string{"a"}, false, false},
		{"here", []string{"a"}, true, false}, {"here", []string{"b"}, false, true},
	} {
		s := compile("test", append(slices.Clone(with),
			source(t, flag("is", serve(asks(FlagIsOneOf, tt.flag, tt.among...), "yes"))),
			source(t, flag("a-not", serve(asks(FlagIsNotOneOf, tt.flag, tt.among...), "yes"))))...)
		for key, want := range map[string]bool{"is": tt.is, "a-not": tt.not} {
			if got := served(t, s, key, "{}") == "yes"; got != want {
				t.Errorf("%s of %s among %.20q: %v", key, tt.flag, tt.among, got)
			}
		}
	}
}

// TestAPrerequisiteIsForTheSameContext, with the properties and segments that it reads, and
// for who is overridden.
func TestAPrerequisiteIsForTheSameContext(t *testing.T) {
	base := source(t, flag("z", serve(criterion("PROP_IS_ONE_OF", "user.plan", "string", `"pro"`), "on")+","+serve(always, "off")))
	dependent := source(t, flag("a", serve(asks(FlagIsOneOf, "z", "on"), "yes")))
	s := compile("test", base, dependent)
	for context, want := range map[string]string{`{"user":{"plan":"pro"}}`: "yes", `{"user":{"plan":"free"}}`: "-", `{}`: "-"} {
		if got := served(t, s, "a", context); got != want {
			t.Errorf("%s is served %s, want %s", context, got, want)
		}
	}
	base.Overrides = source(t, flag("o", serve(always, "on"))).Document.Default
	if got := served(t, compile("test", base, dependent), "a", `{}`); got != "yes" {
		t.Error("an override of the other flag does not count:", got)
	}
}

// TestPrerequisitesInACircleNeverHold, whichever flag is asked for first, nor what leads
// into one; others are as they were.
func TestPrerequisitesInACircleNeverHold(t *testing.T) {
	depends := func(key, on string) Source {
		return source(t, flag(key, serve(asks(FlagIsOneOf, on, "yes", "no"), "yes")+","+serve(asks(FlagIsNotOneOf, on, "yes", "no"), "yes")+","+serve(always, "no")))
	}
	s := compile("test", depends("a", "b"), depends("b", "c"), depends("c", "a"), depends("into", "a"), depends("self", "self"),
		depends("out", "base"), source(t, flag("base", serve(always, "yes")+","+serve(asks(FlagIsOneOf, "config", "x"), "no"))),
		source(t, strings.Replace(flag("config", serve(asks(FlagIsOneOf, "base", "yes"), "yes")), "feature_flag", "config", 1))) // which is no circle
	want := map[string]string{"config": "yes", "a": "no", "b": "no", "c": "no", "into": "no", "self": "no", "out": "yes", "base": "yes"}
	for range 20 {
		f := s.NewFrame(testNow, noRandom)
		for _, item := range rand.Perm(len(s.Keys)) {
			if got, _ := s.Answers[s.Evaluate(item, f)].Value.Content.Text(); got != want[s.Keys[item]] {
				t.Errorf("%s serves %s", s.Keys[item], got)
			}
		}
		f.Release()
	}
}

func TestASegmentAsksForNoFlag(t *testing.T) {
	s := compile("test", source(t, typed("base", "bool", "true")),
		source(t, segmentDoc("s", member(asks(FlagIsOneOf, "base", "true"), true)+","+member(asks(FlagIsNotOneOf, "base", "x"), true))),
		source(t, flag("f", serve(criterion("IN_SEG", "", "string", `"s"`), "yes"))),
		source(t, flag("g", serve(asks(FlagIsOneOf, "base", "true"), "yes"))))
	if got := served(t, s, "f", `{}`); got != "-" {
		t.Error("the segment has a member:", got)
	}
	if got := served(t, s, "g", `{}`); got != "yes" {
		t.Error("a flag with the same criterion serves", got)
	}
}

// TestADiamondIsDecidedOnce: each flag asks for both of the level below, twice, ten
// levels deep; without memory that were a million tests.
func TestADiamondIsDecidedOnce(t *testing.T) {
	const depth = 10
	var sources []Source
	for level := range depth + 1 {
		for _, side := range []string{"l", "r"} {
			rules := serve(always, "on")
			if level > 0 {
				below := func(side string) string { return fmt.Sprintf("%s%02d", side, level-1) }
				rules = serve(asks(FlagIsNotOneOf, below("l"), "on")+","+asks(FlagIsNotOneOf, below("r"), "on"), "off") + "," +
					serve(asks(FlagIsOneOf, below("l"), "on")+","+asks(FlagIsOneOf, below("r"), "on"), "on")
			}
			sources = append(sources, source(t, flag(fmt.Sprintf("%s%02d", side, level), rules)))
		}
	}
	s := compile("test", sources...)
	tests := 0
	for i, original := range s.tests {
		s.tests[i] = func(f *Frame) bool { tests++; return original(f) }
	}
	if got := served(t, s, "l10", `{}`); got != "on" {
		t.Error("the top serves", got)
	}
	if most := 4 * depth; tests > most {
		t.Errorf("%d tests for a diamond of depth %d, want at most %d", tests, depth, most)
	}
}

// TestWhoAsksGetsWhatTheFlagServes, also where chance decides that.
func TestWhoAsksGetsWhatTheFlagServes(t *testing.T) {
	split := `{"criteria":[],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"weight":1,"value":{"type":"string","value":"a"}},{"weight":1,"value":{"type":"string","value":"b"}}]}}}`
	s := compile("test", source(t, flag("base", split)), source(t, flag("asks", serve(asks(FlagIsOneOf, "base", "a"), "a")+","+serve(asks(FlagIsNotOneOf, "base", "a"), "b"))))
	seen := map[string]bool{}
	for range 100 {
		f := s.NewFrame(testNow, rand.Float64)
		var got [2]string
		for _, item := range rand.Perm(2) {
			got[item], _ = s.Answers[s.Evaluate(item, f)].Value.Content.Text()
		}
		f.Release()
		if seen[got[0]] = true; got[0] != got[1] {
			t.Fatalf("who asks is served %s, and the flag serves %s", got[0], got[1])
		}
	}
	if len(seen) != 2 {
		t.Error("a frame that is used again keeps what chance decided:", seen)
	}
}

// TestATableTurnsWithThoseThatItAsks.
func TestATableTurnsWithThoseThatItAsks(t *testing.T) {
	s := compile("test", source(t, flag("base", serve(criterion("PROP_AFTER", CurrentTime, "int", "1000"), "on")+","+serve(always, "off"))),
		source(t, flag("f", serve(asks(FlagIsOneOf, "base", "on"), "yes")+","+serve(always, "no"))))
	before, after := s.NewFrame(1000, noRandom), s.NewFrame(1001, noRandom)
	item, _ := s.Find("f")
	if s.Evaluate(item, before) == s.Evaluate(item, after) || s.Phase(1000) == s.Phase(1001) {
		t.Error("it does not turn")
	}
}

// TestValuesOfFlagsAreKept as long as a table has them.
func TestValuesOfFlagsAreKept(t *testing.T) {
	units := NewUnits("test")
	for n := range 10 {
		c := NewCompiler()
		for i := range 1500 {
			unit, _ := units.Make(source(t, typed(fmt.Sprintf("f%05d", i), "int", fmt.Sprint(i+1500*n))))
			c.Add(unit)
		}
		units.Keep(c)
	}
	if n := len(units.values); n > 4000 {
		t.Errorf("%d lists of values are kept for 1500 flags", n)
	}
}

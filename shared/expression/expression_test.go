package expression

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"svc.example/svc/shared/testing/must"
)

// programOf is how many instructions an expression compiles to.
func programOf(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// expressions draws regular expressions of some depth.
func expressions(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if depth == 0 {
			return rapid.SampledFrom([]string{"a", "bc", ".", `\pL`, "[^x]", `\d`, "^", "$", "", `\b`}).Draw(t, "leaf")
		}
		sub := func(name string) string { return expressions(depth-1).Draw(t, name) }
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return sub("left") + sub("right")
		case 1:
			return "(?:" + sub("one") + "|" + sub("other") + ")"
		case 2:
			return "(" + sub("captured") + ")"
		case 3:
			return "(?:" + sub("some") + ")" + rapid.SampledFrom([]string{"*", "+", "?", "*?"}).Draw(t, "times")
		}
		from := rapid.IntRange(0, 6).Draw(t, "from")
		to := rapid.SampledFrom([]string{fmt.Sprint(from + 3), "", fmt.Sprint(from)}).Draw(t, "to")
		return fmt.Sprintf("(?:%s){%d,%s}", sub("repeated"), from, to)
	})
}

// TestTheEstimateHasWhatIsFolded, however a range is written.
func TestTheEstimateHasWhatIsFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Rune().Draw(t, "low")
		high := max(low, rapid.Rune().Draw(t, "high"))
		spelled := func(c rune) string {
			forms := []string{fmt.Sprintf(`\x{%x}`, c)}
			switch {
			case c < 0x100:
				forms = append(forms, fmt.Sprintf(`\x%02X`, c), fmt.Sprintf(`\%03o`, c))
			case c != utf8.RuneError:
				forms = append(forms, string(c))
			}
			return rapid.SampledFrom(forms).Draw(t, "spelled")
		}
		before := rapid.SampledFrom([]string{"", "^", "]", "[:alpha:]", `\d-`, `\pL`, `\]`, "-", "[", `a-b`}).Draw(t, "before")
		pattern := rapid.SampledFrom([]string{"", `\Q[\E`, `\[`, `\Q\`, "[[]", `[^\]]`}).Draw(t, "outside")
		if pattern == `\Q\` {
			pattern += `\E`
		}
		pattern += "(?i)[" + before + spelled(low) + "-" + spelled(high) + "]"
		if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
			t.Skip()
		}
		folded := int(min(high, lastFolded) - max(low, firstFolded))
		if low <= firstFolded && high >= lastFolded {
			folded = 0
		}
		if got := reading(pattern); got < folded/foldedAStep {
			t.Fatalf("%q: %d, and %d characters are looked up", pattern, got, folded)
		}
	})
}

// TestMistakesAreBounded: what does not compile is read before that is known.
func TestMistakesAreBounded(t *testing.T) {
	for _, pattern := range []string{`(?i)[a-\x{10ffff}](mistake%d`, `(?i)[a-\x{10ffff}]x{1000}x{1000}%d`, `(?i)[a-\x{10ffff}]{100}large%d` + strings.Repeat("y{1000}", 60)} {
		var s Set
		read := 0
		for i := range 100 {
			pattern := fmt.Sprintf(pattern, i)
			_ = s.Check(pattern)
			if _, parsed := sizes.Get(pattern); parsed {
				read++
			}
		}
		if read > 4 {
			t.Errorf("%.40s: %d of 100 were read", pattern, read)
		}
		if err := s.Check("short"); err != nil {
			t.Errorf("%.40s: one that takes nothing: %v", pattern, err)
		}
	}
}

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	first := must.Get(Compile("^once$"))(t)
	if again, _ := Compile("^once$"); again != first {
		t.Error("it was compiled again")
	}
	if _, err := Compile(strings.Repeat(`(?i)[a-\x{10ffff}]`, 4)); err == nil {
		t.Error("an expression that nobody may use was compiled")
	}
}

// TestTheEstimateIsNotFarBelowTheProgram, for expressions of every form.
func TestTheEstimateIsNotFarBelowTheProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := expressions(3).Draw(t, "pattern")
		var s Set
		if s.Check(pattern) != nil {
			return
		}
		if made := programOf(pattern); made > 2*s.Instructions(pattern) {
			t.Fatalf("%s: %d instructions, estimated are %d", pattern, made, s.Instructions(pattern))
		}
	})
}

func TestASetIsBounded(t *testing.T) {
	var s Set
	for i := range 100 {
		if err := s.Check(fmt.Sprintf("a%d|x{1000}", i)); (err == nil) != (i < 49) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := s.Check("a0|x{1000}"); err != nil {
		t.Errorf("an expression that is there already: %v", err)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, tt := range []struct{ pattern, words string }{
		{`@acme\.com$`, ""},
		{`^.{0,1000}x$`, ""},
		{strings.Repeat("x{1000}", 100), "at most 50000 instructions"},
		{strings.Repeat("x", MaxLength+1), "at most 32768 bytes"},
		{strings.Repeat(`\pL`, 2000), "at most 50000 instructions"},
		{`(((x{10}){10}){10}){10}`, "invalid repeat count"},
		{`a(b`, "missing closing )"},
		{`(?i)[^a-z]`, ""},
		{`(?i)[a-\x{10ffff}]`, ""},
		{`(?i)[^\x00-\x{10ffff}]` + strings.Repeat(`[!-/]|[\x{20000}-\x{10ffff}]`, 400), ""},
		{strings.Repeat(`[a-\x{10ffff}]`, 2000), ""},
		{strings.Repeat(`(?i)[a-\x{10ffff}]`, 4), "at most 50000 instructions"},
		{`(?i)[` + strings.Repeat(`a-\x{10ffff}`, 4) + `]`, "at most 50000 instructions"},
		{`x(?s-i:y)` + strings.Repeat(`[[:alpha:]\d-z-\x{1FFFF}]`, 4), "at most 50000 instructions"},
		{`(?mi)\Q[\E` + strings.Repeat(`[]\]-\x{10ffff}]`, 4), "at most 50000 instructions"},
		{`(?i)` + strings.Repeat("[^[:b-\U0010ffff\\102-\U0010ffff]", 2), "at most 50000 instructions"},
		{`[` + strings.Repeat(`\pL`, 1000) + `]`, "at most 50000 instructions"},
	} {
		var s Set
		if err := s.Check(tt.pattern); (err == nil) != (tt.words == "") || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%.40s: %v", tt.pattern, err)
		}
	}
}

package evaluation

import (
	"fmt"
	"regexp/syntax"

	"pgregory.net/rapid"
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

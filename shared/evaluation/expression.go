package evaluation

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// MaxInstructions is how many instructions the regular expressions of one
// document may compile to, all that differ together. A few characters can stand
// for thousands of them (x{1000}), each of which takes memory.
const MaxInstructions = 50_000

// MaxExpression is how long an expression may be.
const MaxExpression = 32 << 10

// Expressions compiles the regular expressions (RE2) of one document.
type Expressions struct {
	seen         map[string]bool
	instructions int
}

// Check says why an expression cannot be used beside those that were checked
// before it. The error is a *syntax.Error when it does not compile.
func (e *Expressions) Check(pattern string) error {
	if e.seen[pattern] {
		return nil
	}
	if len(pattern) > MaxExpression {
		return fmt.Errorf("a regular expression has at most %d bytes, this one has %d", MaxExpression, len(pattern))
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	size := instructions(tree)
	if e.instructions+size > MaxInstructions {
		return fmt.Errorf("the regular expressions of a document take at most %d instructions, and with this one it is %d: shorten repetitions such as {0,1000}",
			MaxInstructions, e.instructions+size)
	}
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[pattern] = true
	e.instructions += size
	return nil
}

// instructions is how many instructions an expression compiles to, counted
// without compiling it. A class of many characters, such as \pL, counts as
// several: it takes as much memory.
func instructions(re *syntax.Regexp) int {
	inner := 0
	for _, sub := range re.Sub {
		if inner += instructions(sub); inner > MaxInstructions {
			return inner // more than anybody may use
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/16
	case syntax.OpAlternate:
		return inner + len(re.Sub) - 1
	case syntax.OpConcat:
		return inner
	case syntax.OpRepeat:
		if re.Max < 0 {
			return max(1, re.Min)*inner + 1
		}
		return re.Max*(inner+1) - re.Min
	case syntax.OpCapture:
		return inner + 2
	}
	return inner + 1
}

// compile compiles an expression that passed Check, once in a workspace.
func (c *compiler) regexp(pattern string) (expression, error) {
	if known, ok := c.patterns[pattern]; ok {
		return known, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return expression{}, err
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return expression{}, err
	}
	known := expression{re, int64(instructions(tree)) + 2} // fail and match
	c.patterns[pattern] = known
	return known, nil
}

// expression is one that is compiled.
type expression struct {
	*regexp.Regexp
	instructions int64
}

// problem says what is wrong with an expression that takes long.
func (e expression) problem() problem {
	most := budget / (matchByte * e.instructions)
	if most >= MaxMatched {
		return ""
	}
	return problem(fmt.Sprintf("the regular expression is large (%d instructions): a property of more than %d bytes would take too long to match, and counts as an object does",
		e.instructions, max(most, freeText)))
}

// Package expression bounds the regular expressions (RE2) that documents hold.
// They match in linear time, but a few characters can stand for thousands of
// instructions (x{1000}), each of which takes memory, and time for each byte of
// a text.
package expression

import (
	"fmt"
	"regexp/syntax"
)

const (
	// MaxInstructions is how many instructions the expressions of one document
	// may compile to, all that differ together.
	MaxInstructions = 50_000
	// MaxLength is how many bytes an expression may have.
	MaxLength = 32 << 10
)

// Set is the expressions of one document. The zero Set is empty.
type Set struct {
	seen         map[string]int
	instructions int
}

// Check adds an expression, or says why an expression cannot be used beside those that were checked
// before it. The error is a *syntax.Error when it does not compile.
func (e *Set) Check(pattern string) error {
	if _, known := e.seen[pattern]; known {
		return nil
	}
	if len(pattern) > MaxLength {
		return fmt.Errorf("a regular expression has at most %d bytes, this one has %d", MaxLength, len(pattern))
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return err
	}
	size := instructions(tree) + 2 // to fail, and to match
	if e.instructions+size > MaxInstructions {
		return fmt.Errorf("the regular expressions of a document take at most %d instructions, and with this one it is %d: shorten repetitions such as {0,1000}",
			MaxInstructions, e.instructions+size)
	}
	if e.seen == nil {
		e.seen = map[string]int{}
	}
	e.seen[pattern] = size
	e.instructions += size
	return nil
}

// Instructions is how many instructions an expression of the set takes.
func (e *Set) Instructions(pattern string) int { return e.seen[pattern] }

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
		return max(1, re.Max*(inner+1)-re.Min) // {0} matches the empty text
	case syntax.OpCapture:
		return inner + 2
	}
	return inner + 1
}

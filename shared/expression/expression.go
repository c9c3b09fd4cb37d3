// Package expression bounds the regular expressions (RE2) that documents hold.
// They match in linear time, but a few characters can stand for thousands of
// instructions (x{1000}), each of which takes memory, and time for each byte of
// a text. Reading one can take longer than compiling it: see reading.
package expression

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"regexp/syntax"
	"strings"

	"svc.example/svc/shared/lru"
)

const (
	// MaxInstructions is how many instructions the expressions of one document
	// may compile to, all that differ together.
	MaxInstructions = 50_000
	// MaxTogether is how many those of a workspace may compile to, all that
	// differ together. Compiled they take up to 41 MB, mostly less: many small
	// ones have 160 bytes an instruction, a few large ones 50.
	MaxTogether = 250_000
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
	size, read, err := measure(pattern, MaxInstructions-e.instructions)
	if err == nil && e.instructions+size > MaxInstructions {
		hint := "shorten repetitions such as {0,1000}"
		if 2*reading(pattern) > size {
			hint = "narrow classes such as (?i)[a-\\x{ffff}], and those of many tables such as \\pL"
		}
		err = fmt.Errorf("the regular expressions of a document take at most %d instructions, and with this one it is %d: %s",
			MaxInstructions, e.instructions+size, hint)
	}
	if err != nil {
		e.instructions += read // a document of nothing but mistakes ends too
		return err
	}
	if e.seen == nil {
		e.seen = map[string]int{}
	}
	e.seen[pattern] = size
	e.instructions += size
	return nil
}

// All are the expressions that can be used, in no order, with how many instructions
// each takes.
func (e *Set) All() iter.Seq2[string, int] { return maps.All(e.seen) }

// SetOf is the set of expressions that were checked together, given how many
// instructions each takes.
func SetOf(seen map[string]int) (e Set) {
	for _, n := range seen {
		e.instructions += n
	}
	e.seen = seen
	return e
}

// IsEmpty reports whether no expression of the set can be used.
func (e *Set) IsEmpty() bool { return len(e.seen) == 0 }

// Within reports whether another set has all expressions of this one.
func (e *Set) Within(other Set) bool {
	for pattern := range e.seen {
		if _, has := other.seen[pattern]; !has {
			return false
		}
	}
	return true
}

// Bytes is about what the set takes in memory.
func (e *Set) Bytes() (sum int64) {
	for pattern := range e.seen {
		sum += int64(len(pattern)) + 75
	}
	return sum
}

// Total is the expressions of the documents of a workspace. The zero Total is
// empty.
type Total struct{ all Set }

// Add adds those of a document, all or, with an error that says why, none.
func (t *Total) Add(document Set) error {
	size := 0
	for pattern, n := range document.seen {
		if _, known := t.all.seen[pattern]; !known {
			size += n
		}
	}
	if size > 0 && t.all.instructions+size > MaxTogether {
		return fmt.Errorf("the regular expressions of all documents take at most %d instructions together, each that differs counted once, and there is no room for the %d that this one adds: shorten repetitions such as {0,1000}, here or in other documents",
			MaxTogether, size)
	}
	if t.all.seen == nil {
		t.all.seen = map[string]int{}
	}
	maps.Copy(t.all.seen, document.seen)
	t.all.instructions += size
	return nil
}

// Instructions is how many instructions an expression of the set takes.
func (e *Set) Instructions(pattern string) int { return e.seen[pattern] }

// measured is what measure has found.
type measured struct {
	size, read int
	err        error
}

// Of expressions that were used before, so that a workspace that is read again
// does not cost what it did the first time.
var (
	sizes    = lru.New[string, measured](1 << 20)
	compiled = lru.New[string, *regexp.Regexp](8 << 20)
)

// Bytes is about what an expression takes in memory once it is compiled, given
// its instructions. One that is anchored is compiled a second time, for a quicker
// match, unless it is large.
func Bytes(pattern string, instructions int) int64 {
	const expression, instruction, quicker, large = 450, 45, 120, 1000
	bytes := expression + len(pattern) + instruction*instructions
	if instructions <= large && (strings.Contains(pattern, "^") || strings.Contains(pattern, `\A`)) {
		bytes += quicker * instructions
	}
	return int64(bytes)
}

// Compile is regexp.Compile. What it returns is shared by all that need the
// same expression. One that takes more than MaxInstructions is not compiled.
func Compile(pattern string) (*regexp.Regexp, error) {
	if re, known := compiled.Get(pattern); known {
		return re, nil
	}
	size, _, err := measure(pattern, MaxInstructions)
	if err != nil {
		return nil, err
	}
	if size > MaxInstructions {
		return nil, fmt.Errorf("the regular expression takes %d instructions, more than %d", size, MaxInstructions)
	}
	re, err := regexp.Compile(pattern)
	if err == nil {
		compiled.Put(pattern, re, Bytes(pattern, size))
	}
	return re, err
}

// measure is how many instructions an expression takes by itself. One that takes
// more than are left only to be read is not read, and its size is what that would
// take. What reading took is returned too.
func measure(pattern string, left int) (size, read int, err error) {
	if len(pattern) > MaxLength {
		return 0, 0, fmt.Errorf("a regular expression has at most %d bytes, this one has %d", MaxLength, len(pattern))
	}
	if known, ok := sizes.Get(pattern); ok {
		return known.size, known.read, known.err
	}
	m := measured{read: reading(pattern)}
	if m.read > left {
		return m.read, 0, nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if m.err = err; err == nil {
		m.size = max(m.read, instructions(tree)+2) // to fail, and to match
	}
	sizes.Put(pattern, m, int64(2*len(pattern)+100))
	return m.size, m.read, m.err
}

// instructions is how many instructions an expression compiles to, counted
// without compiling it. A class of many characters, such as \pL, counts as
// several: it takes as much memory.
func instructions(re *syntax.Regexp) int {
	inner := 0
	for _, sub := range re.Sub {
		if inner += instructions(sub); inner > MaxInstructions {
			return inner // more than is allowed
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

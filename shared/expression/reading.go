package expression

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the parser does for the classes of an expression before anything is known
// of it, as the number of instructions that take as long to compile.
const (
	foldedAStep  = 8   // characters of a range whose other case is looked up
	tableSteps   = 80  // a table of characters, such as \pL
	mergingSteps = 250 // one that is merged with others in brackets
)

// The first and the last character that have another case, for the parser.
const (
	firstFolded = 'A'
	lastFolded  = '\U0001e943'
)

// ignoresCase finds the flag, and at times what only looks like it.
var ignoresCase = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)

// Reading is an estimate, from the text alone, of what it takes to read an
// expression, which need not be one: as many instructions.
func Reading(pattern string) int {
	if len(pattern) > MaxLength {
		return 0 // it is refused unread
	}
	return len(pattern) + reading(pattern)
}

// reading is how much work the parser does for the classes of an expression. It
// goes through brackets as the parser does, and is right as far as that gets.
func reading(pattern string) int {
	s := scanner{folds: ignoresCase.MatchString(pattern), rest: pattern}
	for s.rest != "" && s.steps <= MaxInstructions {
		switch {
		case strings.HasPrefix(s.rest, `\Q`):
			_, s.rest, _ = strings.Cut(s.rest[2:], `\E`)
		case s.table():
			s.steps += tableSteps
		case s.rest[0] == '[':
			s.class()
		default:
			s.character()
		}
	}
	return s.steps
}

type scanner struct {
	folds bool
	rest  string
	steps int
}

// class passes a class in brackets.
func (s *scanner) class() {
	s.rest = strings.TrimPrefix(s.rest[1:], "^")
	for first := true; s.rest != "" && (first || s.rest[0] != ']'); first = false {
		switch {
		case s.named():
		case s.table():
			s.steps += mergingSteps
		case len(s.rest) > 1 && s.rest[0] == '\\' && strings.IndexByte("dswDSW", s.rest[1]) >= 0:
			s.rest = s.rest[2:]
		default:
			low := s.character()
			if len(s.rest) >= 2 && s.rest[0] == '-' && s.rest[1] != ']' {
				s.rest = s.rest[1:]
				s.fold(low, s.character())
			}
		}
	}
	s.rest = strings.TrimPrefix(s.rest, "]")
}

// fold counts the characters of a range that are looked up one by one: none of
// one that holds every character with another case.
func (s *scanner) fold(low, high rune) {
	if !s.folds || low <= firstFolded && high >= lastFolded {
		return
	}
	s.steps += max(0, int(min(high, lastFolded)-max(low, firstFolded))) / foldedAStep
}

// named passes a class such as [:alpha:].
func (s *scanner) named() bool {
	if !strings.HasPrefix(s.rest, "[:") {
		return false
	}
	_, rest, named := strings.Cut(s.rest[2:], ":]")
	if named {
		s.rest = rest
	}
	return named
}

// table passes a class such as \pL or \P{Greek}.
func (s *scanner) table() bool {
	if !strings.HasPrefix(s.rest, `\p`) && !strings.HasPrefix(s.rest, `\P`) {
		return false
	}
	if s.rest = s.rest[2:]; strings.HasPrefix(s.rest, "{") {
		_, s.rest, _ = strings.Cut(s.rest, "}")
	} else {
		_, size := utf8.DecodeRuneInString(s.rest)
		s.rest = s.rest[size:]
	}
	return true
}

// character passes a character, however it is written, and says which it is: 0
// for a control character, and more than any for what the parser does not take.
func (s *scanner) character() rune {
	c, size := utf8.DecodeRuneInString(s.rest)
	s.rest = s.rest[size:]
	if c != '\\' {
		return c
	}
	c, size = utf8.DecodeRuneInString(s.rest)
	s.rest = s.rest[size:]
	digits, base := "", 16
	switch {
	case c == 'x' && strings.HasPrefix(s.rest, "{"):
		digits, s.rest, _ = strings.Cut(s.rest[1:], "}")
	case c == 'x':
		n := min(2, len(s.rest))
		digits, s.rest = s.rest[:n], s.rest[n:]
	case c >= '0' && c <= '7':
		n := 0
		for n < min(2, len(s.rest)) && s.rest[n] >= '0' && s.rest[n] <= '7' {
			n++
		}
		digits, base, s.rest = string(c)+s.rest[:n], 8, s.rest[n:]
	case c >= 'a' && c <= 'z':
		return 0
	default:
		return c
	}
	value, err := strconv.ParseUint(digits, base, 31)
	if err != nil {
		return unicode.MaxRune + 1
	}
	return rune(value)
}

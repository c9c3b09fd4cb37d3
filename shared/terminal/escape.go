// Package terminal makes text safe to show to a person, on a terminal or in a
// log. File names, keys, names and messages come from strangers, and a terminal
// obeys what it is sent: control characters move the cursor, rename the window
// or hide what was written, and bidirectional overrides show a line in another
// order than it has.
//
// What must stay true:
//
//   - Everything that a program prints goes through a Writer, so that no command
//     has to think of it. What a Writer passes on has no control character but
//     line feed and tab, no invisible formatting character, and is valid UTF-8.
//   - A text that a stranger wrote and that stands in a line or a column of ours
//     goes through Escape as well, which leaves no line feed and no tab: else it
//     could make a line that looks like one of ours.
//   - A message quotes no more of such a text than a person reads: Quote and Cut.
//   - What runners of CI systems take for commands in a log is broken up.
//   - What is escaped is written as in JSON (\u001b), so that JSON which a
//     Writer passes on stays JSON that means the same.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape returns a text as one line without anything that a terminal would
// obey.
func Escape(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || r == '\n' || r == '\t' || obeyed(r) }) < 0 {
		return text
	}
	return string(appendEscaped(nil, []byte(text), ""))
}

// Printable is Escape for a column of a table, where nothing at all would look
// like a missing value.
func Printable(text string) string {
	if text == "" {
		return `""`
	}
	return Escape(text)
}

// appendEscaped appends text, escaped but for the characters of plain.
func appendEscaped(to, text []byte, plain string) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, `\x%02x`, text[0])
		case strings.ContainsRune(plain, r):
			to = append(to, text[:size]...)
		case r == '\n':
			to = append(to, `\n`...)
		case r == '\t':
			to = append(to, `\t`...)
		case !obeyed(r):
			to = append(to, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			to = fmt.Appendf(to, `\u%04x\u%04x`, high, low)
		default:
			to = fmt.Appendf(to, `\u%04x`, r)
		}
		text = text[size:]
	}
	return to
}

// obeyed reports whether a character does something instead of being seen: control
// characters, those that separate lines, those that format, and the others that
// a terminal may show as nothing (default-ignorable ones such as U+3164), with
// which two names look the same. Of those that format, the two joiners shape
// letters and emoji, and some are signs of numbers in Arabic and Syriac that are
// printed: these stay.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == '\u200c', r == '\u200d', unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Writer passes text on, escaped. It is safe for concurrent use.
type Writer struct {
	to io.Writer

	mu     sync.Mutex
	rest   []byte // the beginning of a character whose end has not come yet
	runner commands
	failed error // the first error of what is written to
}

// NewWriter returns a Writer to a file or a terminal.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// NewWriterInActions is NewWriter in a step of GitHub Actions, whose runner takes what
// follows :: for a command too.
func NewWriterInActions(to io.Writer) *Writer { return &Writer{to: to, runner: commands{colons: true}} }

// Commands passes on lines that are commands for a runner. Their texts are escaped, but
// for what makes them commands.
func (w *Writer) Commands(lines string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(appendEscaped(nil, []byte(lines), "\n\t"))
}

// commands breaks up what runners of CI systems take for their commands, wherever it
// stands in a line: ##[set-output name=x]y and ##vso[task.complete], and where colons are
// to be broken up, ::set-output name=x::y.
type commands struct {
	colons bool
	hashes int  // that stand before, with the letters after them
	colon  bool // stands before
}

func (c *commands) broken(text []byte) []byte {
	to := make([]byte, 0, len(text))
	for _, b := range text {
		switch letter := b|0x20 >= 'a' && b|0x20 <= 'z'; {
		case b == '[' && c.hashes >= 2:
			to = append(to, `\u005b`...)
			c.hashes, c.colon = 0, false
			continue
		case b == ':' && c.colon && c.colons:
			to = append(to, `\u003a`...)
			c.hashes, c.colon = 0, false
			continue
		case b == '#':
			c.hashes++
		case !letter || c.hashes < 2:
			c.hashes = 0
		}
		c.colon = b == ':'
		to = append(to, b)
	}
	return to
}

// Write implements io.Writer. A character that is cut in two is passed on with
// its second part.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	whole := wholeRunes(text)
	w.rest = append([]byte(nil), text[whole:]...)
	if err := w.pass(w.runner.broken(appendEscaped(make([]byte, 0, whole), text[:whole], "\n\t"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what is left of a character that never ended, and returns the
// first error of all that was passed on.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		_ = w.pass(appendEscaped(nil, w.rest, "")) // it is remembered
		w.rest = nil
	}
	return w.failed
}

func (w *Writer) pass(text []byte) error {
	_, err := w.to.Write(text)
	w.failed = cmp.Or(w.failed, err)
	return err
}

// Unwrap returns what is written to, for a program that itself moves the cursor.
func (w *Writer) Unwrap() io.Writer { return w.to }

// wholeRunes is how much of a text ends with a whole character, or with what can
// never become one.
func wholeRunes(text []byte) int {
	for back := 1; back <= min(utf8.UTFMax, len(text)); back++ {
		at := len(text) - back
		if utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return at
			}
			break
		}
	}
	return len(text)
}

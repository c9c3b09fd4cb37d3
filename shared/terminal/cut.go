package terminal

import "strconv"

// Cut returns the first most characters of a text. What is longer ends in an
// ellipsis, so that nobody takes it for the whole.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// maxQuoted is the length that a key may have: a shorter quotation could make two
// keys look alike.
const maxQuoted = 200

// Quote returns a text in quotes and escaped, as %q writes it, for a message
// about what somebody sent or stored: such a text may be as long as a file, so of
// more than 200 characters only the first are quoted.
func Quote(text string) string { return strconv.Quote(Cut(text, maxQuoted)) }

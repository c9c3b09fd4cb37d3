package document

import (
	"fmt"
	"strings"
	"unicode"
)

// MaxWord is how many characters are shown of one value, key or tag.
const MaxWord = 60

// Words is a text of a user's on one line: what could break a line, move a
// cursor or turn the direction of writing becomes a space, and what is long is
// cut.
func Words(text string) string { return WordsWithin(text, MaxWord) }

// QuotedWords are Words in quotes.
func QuotedWords(text string) string {
	return `"` + strings.ReplaceAll(Words(text), `"`, "'") + `"`
}

// WordsWithin are Words of at most so many characters.
func WordsWithin(text string, limit int) string {
	text = text[:min(8*limit, len(text))] // the rest is cut anyway
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	for i, r := range runes {
		if !unicode.IsGraphic(r) {
			runes[i] = ' '
		}
	}
	if len(runes) > limit {
		return strings.TrimRight(string(runes[:limit-1]), " …") + "…"
	}
	return string(runes)
}

// PercentText is a weight as a percentage, such as 12.5.
func PercentText(weight int64) string {
	text := fmt.Sprintf("%d.%03d", weight/1000, weight%1000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

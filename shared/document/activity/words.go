package activity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// What a message may grow to. A document can hold a megabyte; a line of a feed
// or of `git log` cannot.
const (
	maxMessage = 240
	maxArms    = 8
	maxSubject = 72
)

// MaxMessages is how many messages tell of one change; the last of so many may
// count the rest.
const MaxMessages = 20

// redacted stands where a secret would.
const redacted = "[redacted]"

// hidden reports whether a Value object's content must stay out of words. A
// marker that is misspelt hides too.
func hidden(value *jsontree.Node) bool {
	key := value.Get("decryptWith")
	return document.OwnSecrecy(value).Confidential || document.KeptElsewhere(value) || !key.Absent() && key.Kind != jsontree.String
}

// valueWords is what a Value object serves, in words.
func valueWords(value *jsontree.Node) string {
	content := value.Get("value")
	switch {
	case hidden(value):
		return redacted
	case content == nil:
		return "nothing"
	}
	if text, ok := content.Text(); ok {
		return quoted(text)
	}
	return document.Words(escaped(string(content.Compact())))
}

// quoted is a text as a JSON string, cut where it is long: a value is told as it is,
// whatever is in it.
func quoted(text string) string {
	const most = document.MaxWord
	text = strings.ToValidUTF8(text[:min(8*most, len(text))], "\uFFFD") // the rest is cut anyway
	words, ends, length := "", 0, 0
	for _, r := range text {
		word := strings.Trim(escaped(string(jsontree.NewString(string(r)).Compact())), `"`)
		if r == '"' {
			word = `\"`
		}
		length += utf8.RuneCountInString(word)
		if length > most {
			return `"` + strings.TrimRight(words[:ends], " …") + `…"`
		}
		words += word
		if length < most {
			ends = len(words)
		}
	}
	return `"` + words + `"`
}

// escaped is JSON without what a terminal would obey.
func escaped(json string) string {
	var b strings.Builder
	for _, r := range json {
		switch {
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// armWords is a rollout's arms in words: 25% true, 75% false. Arms without
// weight are never served and are left out, unless there is nothing else.
func armWords(value *jsontree.Node) string {
	arms := document.StoredArms(value)
	weightless := func(arm *jsontree.Node) bool {
		weight, ok := readWeight(arm)
		return ok && weight == 0
	}
	if weighing := slices.DeleteFunc(slices.Clone(arms), weightless); len(weighing) > 0 {
		arms = weighing
	}
	var total float64
	for _, arm := range arms {
		weight, _ := readWeight(arm)
		total += float64(weight)
	}
	var words []string
	for i, arm := range arms {
		if i == maxArms {
			words = append(words, plural(len(arms)-maxArms, "more arm", "more arms"))
			break
		}
		weight, _ := readWeight(arm)
		if total != 0 { // weights written by hand need not make 100 %
			weight = int64(math.Round(float64(weight) / total * document.FullWeight))
		}
		word := valueWords(arm.Get("value"))
		if hidden(value) {
			word = redacted
		}
		words = append(words, document.PercentText(weight)+"% "+word)
	}
	return strings.Join(words, ", ")
}

// servedWords says what a fallback serves, and to which contexts.
func servedWords(kind document.Type, value *jsontree.Node, targeting int) string {
	name, _ := value.Get("type").Text()
	switch {
	case document.IsRollout(value):
		return "rollout " + armWords(value)
	case hidden(value):
		// Not even which bool or level it is.
	case kind == document.Flag && name == string(document.BoolValue):
		return "enabled set to " + valueWords(value)
	case kind == document.LogLevel:
		return "level set to " + strings.Trim(valueWords(value), `"`)
	}
	if targeting > 0 {
		return "serve " + valueWords(value) + " to everyone else"
	}
	return "serve " + valueWords(value) + " to everyone"
}

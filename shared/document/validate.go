package document

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/jsontree"
)

// Validate holds a document against what new content must be. It reports every
// problem once, each where it stands, in the order of its pointers. A document
// without issues is one that Decode reads without issues, and that fits the
// published schema (a fuzz test compares), which cannot say all of it.
//
// The messages say what would be right. They hold names and types out of the
// document, never the content of a value.
func Validate(tree *jsontree.Node) []Issue {
	_, issues := decode(tree, true)
	if len(issues) > maxOrdered {
		return append(distinct(issues[:maxOrdered]), issues[maxOrdered:]...)
	}
	return distinct(issues)
}

// maxOrdered is how many issues are sorted.
const maxOrdered = 1000

// NewContentProblem says what is wrong with content that Decode still reads.
func (v Value) NewContentProblem() string {
	if v.DecryptWith != "" || Masked(v.Content) {
		return ""
	}
	if v.Type == JSONValue && holdsHugeNumber(v.Content) {
		return "a number in this value is beyond the range of a 64-bit float: many programs could read nothing of an answer with it"
	}
	text, ok := v.Content.Text()
	if !ok {
		return ""
	}
	fits := true
	switch v.Type {
	case DurationValue:
		if _, err := duration(strictDuration, text); err != nil {
			return err.Error()
		}
	case JSONValue:
		if holdsJSON(text) {
			return "a json value is native JSON: write the object or array itself, not a string that holds it"
		}
	case IntValue:
		fits = intText.MatchString(text)
	case DoubleValue:
		fits = jsonNumber.MatchString(text)
	case LogLevelValue:
		fits = slices.Contains(Levels, text)
	}
	if !fits {
		return v.contentHint()
	}
	return ""
}

var intText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// contentHint says what the content of a value is, and "" where it may be anything, or
// be left out.
func (v Value) contentHint() string {
	if v.DecryptWith != "" {
		return "an encrypted value is its ciphertext, a string"
	}
	switch v.Type {
	case BoolValue:
		return "a bool value is true or false"
	case StringValue:
		return "a string value is a string"
	case StringListValue:
		return "a string_list value is an array of strings"
	case JSONValue:
		return "a json value is any JSON, written as it is"
	case IntValue:
		return "an int value is a whole number of at most 64 bits, as a number or as a string of digits"
	case DoubleValue:
		return "a double value is a number, also as a string that holds one"
	case DurationValue:
		return errDuration.Error()
	case LogLevelValue:
		return "a log level is one of TRACE, DEBUG, INFO, WARN, ERROR and FATAL"
	case ProvidedValue:
		return `a provided value is {"source", "lookup"}`
	}
	return ""
}

func holdsHugeNumber(content *jsontree.Node) bool {
	for n := range content.All() {
		if n.Kind != jsontree.Number {
			continue
		}
		if _, err := strconv.ParseFloat(n.Literal(), 64); err != nil {
			return true
		}
	}
	return false
}

// holdsJSON reports whether a string is an object or an array in JSON. One that
// reads as a number or a word may well be meant as a string.
func holdsJSON(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	return jsontext.Value(text).IsValid()
}

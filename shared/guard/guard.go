// Package guard decides when a change is to be taken back: by what an expression comes to,
// for how long it has been so, and in which words that is told.
//
// What must stay true:
//
//   - What nobody has seen is no reason to take anything back. A look that failed neither
//     counts nor begins anew; after a longer gap than the hold it begins anew.
//   - NaN, as of a division by zero, is neither below nor above anything.
package guard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"svc.example/svc/shared/document"
)

// Threshold says which values are wrong. Without bounds any is, as in an alert of
// Prometheus, whose expression has the comparison in it.
type Threshold struct{ Above, Below *float64 }

// Worst is the value that is the furthest on the wrong side; false where none is wrong.
func (t Threshold) Worst(values []float64) (worst float64, wrong bool) {
	for _, v := range values {
		switch {
		case math.IsNaN(v) || t.Above != nil && v <= *t.Above || t.Below != nil && v >= *t.Below:
		case !wrong, t.Below != nil && v < worst, t.Below == nil && v > worst:
			worst, wrong = v, true
		}
	}
	return worst, wrong
}

// String is what is wrong, in words.
func (t Threshold) String() string {
	var words []string
	if t.Above != nil {
		words = append(words, "above "+Number(*t.Above))
	}
	if t.Below != nil {
		words = append(words, "below "+Number(*t.Below))
	}
	if len(words) == 0 {
		return "there"
	}
	return strings.Join(words, " and ")
}

// Number writes a value as people read it.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Hold notices what has been so for a while.
type Hold struct {
	For   time.Duration
	Every time.Duration // about how long it is from one look to the next

	since, last time.Time
}

// See notes whether it is so at a time. It tells since when, zero where it is not, and
// whether that is long enough.
func (h *Hold) See(at time.Time, wrong bool) (since time.Time, held bool) {
	if !wrong || at.Sub(h.last) > h.For+h.Every {
		h.since = time.Time{}
	}
	if h.last = at; !wrong {
		return h.since, false
	}
	if h.since.IsZero() {
		h.since = at
	}
	return h.since, at.Sub(h.since) >= h.For
}

// Alarm is why a change is taken back.
type Alarm struct {
	Query     string
	Threshold Threshold
	Value     float64
	Since, At time.Time
}

// begins is how a Message does.
const begins = "Taken back by a guard: "

// TookBack reports whether a commit's message is that of a guard.
func TookBack(message string) bool { return strings.HasPrefix(message, begins) }

// Told is what the commit says that takes a change back since others have told of an alert.
func Told(by, alert string, began time.Time, words string) string {
	message := fmt.Sprintf(begins+"%s says that %s\n\nIt does so since %s.", by, document.WordsWithin(plain(alert), 100), began.UTC().Format(time.RFC3339))
	if words = plain(words); words != "" {
		message += "\n" + document.WordsWithin(words, maxQuery)
	}
	return message
}

// maxQuery is how many characters a commit's message has of a query.
const maxQuery = 500

// Message is what the commit says that takes the change back. Its first line is short.
func (a Alarm) Message() string {
	return fmt.Sprintf(begins+"%s\n\nThe query %s\nhas been %s since %s, for %s.", a.short(),
		document.WordsWithin(plain(a.Query), maxQuery), a.Threshold, a.Since.UTC().Format(time.RFC3339), a.At.Sub(a.Since).Round(time.Second))
}

// plain is a text in one line of what can be seen.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r) || r == unicode.ReplacementChar
	}), " ")
}

func (a Alarm) short() string {
	if a.Threshold == (Threshold{}) {
		return "what it watches for is there, with the value " + Number(a.Value)
	}
	return "the value is " + Number(a.Value) + ", " + a.Threshold.String()
}

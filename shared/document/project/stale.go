package project

import (
	"encoding/json"
	"fmt"
	"time"

	"svc.example/svc/shared/document"
)

// StaleReason is why an item may be cleaned up: a code that does not change, and words.
type StaleReason struct {
	Code    string `json:"code"` // ready_for_cleanup, one_value or not_evaluated
	Message string `json:"message"`
	// Value is what everybody is served, of one_value; nil for what is secret or long.
	Value json.RawMessage `json:"value,omitempty"`
}

// MaxStaleDays is how far back staleness may look: evaluations are kept for a day more.
const MaxStaleDays = 59

// Stale is what staleness is judged by beside the items.
type Stale struct {
	Days  int       // how far back it looks
	Today time.Time // its beginning
	Since string    // the first day on which evaluations were counted; "" for none
}

// From is the first day that is looked at.
func (s Stale) From() string { return s.Today.AddDate(0, 0, -s.Days).Format(time.DateOnly) }

// Why says why an item may be cleaned up; without reasons it may not. What is not marked
// may not either if it was changed lately; recent says that it may have been otherwise.
//
// everyone is what everybody is served of a flag in all environments, nil for nothing and
// of configs. Dates are RFC 3339, or "" where nobody knows.
func (s Stale) Why(marked bool, everyone *ShortValue, modified, evaluated string) (reasons []StaleReason, recent bool) {
	if marked {
		reasons = append(reasons, StaleReason{Code: "ready_for_cleanup", Message: "is marked as ready for cleanup"})
	}
	own := len(reasons)
	if everyone != nil {
		reason := StaleReason{Code: "one_value", Message: "serves a secret to everybody"}
		if !everyone.Confidential {
			reason.Message = fmt.Sprintf("serves %s to everybody", document.WordsWithin(string(everyone.Value), 40))
		}
		if !everyone.Truncated {
			reason.Value = everyone.Value
		}
		reasons = append(reasons, reason)
	}
	switch last := evaluated[:min(len(evaluated), len(time.DateOnly))]; {
	case s.Since == "" || s.Since > s.From() || last >= s.From():
	case last == "":
		reasons = append(reasons, StaleReason{Code: "not_evaluated", Message: "was not evaluated since " + s.Since + ", when counting began"})
	case s.Days == 1:
		reasons = append(reasons, StaleReason{Code: "not_evaluated", Message: "was not evaluated in the last day"})
	default:
		reasons = append(reasons, StaleReason{Code: "not_evaluated", Message: fmt.Sprintf("was not evaluated in the last %d days", s.Days)})
	}
	if len(reasons) > own && modified >= s.From() {
		return reasons[:own], true
	}
	return reasons, false
}

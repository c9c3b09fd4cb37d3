package telemetry

import (
	"fmt"
	"time"
)

// Month is a UTC month of metering, such as 2026-11.
type Month string

const monthForm = "2006-01"

// grace is how long after its end a month takes what is reported late.
const grace = 48 * time.Hour

// MonthOf is the month of a time.
func MonthOf(t time.Time) Month { return Month(t.UTC().Format(monthForm)) }

// ParseMonth reads a month.
func ParseMonth(text string) (Month, error) {
	t, err := time.Parse(monthForm, text)
	if err != nil {
		return "", fmt.Errorf("%q is not a month; write one like 2026-11", text)
	}
	return MonthOf(t), nil
}

// End is the first moment after the month.
func (m Month) End() time.Time {
	begin, err := time.Parse(monthForm, string(m))
	if err != nil {
		return time.Time{}
	}
	return begin.AddDate(0, 1, 0)
}

// Open reports whether the month still counts at a time: until 48 hours after its
// end.
func (m Month) Open(now time.Time) bool { return now.Before(m.End().Add(grace)) }

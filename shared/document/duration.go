package document

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	day         = 24 * time.Hour
	maxDuration = 36500 * day
)

var (
	errDuration     = errors.New("a duration is written like PT30S, PT5M, PT1H30M or P1DT6H, with a fraction on the seconds only")
	errDurationLong = errors.New("a duration is at most P36500D")

	strictDuration  = regexp.MustCompile(`^P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]{1,9})?)S)?)?$`)
	lenientDuration = regexp.MustCompile(`^P(?:([0-9]+(?:\.[0-9]+)?)D)?(?:T(?:([0-9]+(?:\.[0-9]+)?)H)?(?:([0-9]+(?:\.[0-9]+)?)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?$`)
)

// ReadDuration reads an ISO 8601 duration, as old files have it too: with a fraction on any
// component.
func ReadDuration(text string) (time.Duration, error) {
	return duration(lenientDuration, text)
}

func duration(grammar *regexp.Regexp, text string) (time.Duration, error) {
	parts := grammar.FindStringSubmatch(text)
	if parts == nil || strings.HasSuffix(text, "T") || text == "P" {
		return 0, errDuration
	}
	var total time.Duration
	for i, unit := range []time.Duration{day, time.Hour, time.Minute, time.Second} {
		part, ok := component(parts[i+1], unit)
		if total += part; !ok || total > maxDuration {
			return 0, errDurationLong
		}
	}
	return total, nil
}

// component reads so many of a unit in whole numbers, so that nothing is lost
// to rounding, and reports whether it is within the maximum.
func component(text string, unit time.Duration) (time.Duration, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt("0"+whole, 10, 64)
	if err != nil || n > int64(maxDuration/unit) {
		return 0, false
	}
	billionths, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return time.Duration(n)*unit + time.Duration(billionths)*(unit/time.Second), true
}

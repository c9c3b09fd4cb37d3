package document

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const maxDurationDays = 36500

var (
	errDuration     = errors.New("a duration is written like PT30S, PT5M, PT1H30M or P1DT6H, with a fraction on the seconds only")
	errDurationLong = errors.New("a duration is at most P36500D")

	strictDuration  = regexp.MustCompile(`^P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]{1,9})?)S)?)?$`)
	lenientDuration = regexp.MustCompile(`^P(?:([0-9]+(?:\.[0-9]+)?)D)?(?:T(?:([0-9]+(?:\.[0-9]+)?)H)?(?:([0-9]+(?:\.[0-9]+)?)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?$`)
)

// ParseDuration reads an ISO 8601 duration as the API writes it.
func ParseDuration(text string) (time.Duration, error) {
	return duration(strictDuration, text)
}

// ReadDuration also takes a fraction on any component, as old files have it.
func ReadDuration(text string) (time.Duration, error) {
	return duration(lenientDuration, text)
}

func duration(grammar *regexp.Regexp, text string) (time.Duration, error) {
	parts := grammar.FindStringSubmatch(text)
	if parts == nil || strings.HasSuffix(text, "T") || text == "P" {
		return 0, errDuration
	}
	var seconds float64
	for i, unit := range []float64{86400, 3600, 60, 1} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.ParseFloat(parts[i+1], 64)
		if err != nil {
			return 0, errDurationLong
		}
		seconds += n * unit
	}
	if seconds > maxDurationDays*86400 {
		return 0, errDurationLong
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// lifetime reads a duration that may be given in days.
func lifetime(text string) (time.Duration, error) {
	if number, inDays := strings.CutSuffix(text, "d"); inDays {
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n <= uint64(math.MaxInt64/day) {
			return time.Duration(n) * day, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	return 0, errors.New("a time is a number and its unit, such as 90d, 12h or 30m")
}

package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// lifetime is a flag's duration that may be given in days.
type lifetime time.Duration

const day = 24 * time.Hour

// Set implements pflag.Value.
func (l *lifetime) Set(text string) error {
	if number, inDays := strings.CutSuffix(text, "d"); inDays {
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n <= uint64(math.MaxInt64/day) {
			*l = lifetime(time.Duration(n) * day)
			return nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		*l = lifetime(d)
		return nil
	}
	return errors.New("a time is a number and its unit, such as 90d, 12h or 30m")
}

// String implements pflag.Value.
func (l *lifetime) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements pflag.Value.
func (l *lifetime) Type() string { return "time" }

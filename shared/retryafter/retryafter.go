// Package retryafter reads how long a server asks its clients to wait.
package retryafter

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Read is what a server asks for in Retry-After, at most longest, and whether it
// asks for anything that can be understood. A date is read against the server's
// own clock, which need not be ours.
func Read(header http.Header, longest time.Duration) (wait time.Duration, asked bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil || errors.Is(err, strconv.ErrRange) {
		if seconds < 0 {
			return 0, false
		}
		// Compared before it is multiplied, which would overflow.
		return time.Duration(min(seconds, int(longest/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(at.Sub(now), 0), longest), true
}

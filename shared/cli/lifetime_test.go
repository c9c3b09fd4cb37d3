package cli

import (
	"testing"
	"time"
)

func TestLifetime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "0d": 0, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "-1h": -time.Hour,
		"": -1, "d": -1, "3": -1, "1.5d": -1, "-3d": -1, "200000d": -1, "99999999999d": -1, "3w": -1,
	} {
		if l, err := lifetime(text); (err != nil) != (want == -1) || err == nil && l != want {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}

package httpapi

import (
	"context"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ratelimit"
)

// DefaultLimit is how many requests a key may send.
var DefaultLimit = ratelimit.Rate{PerSecond: 5, Burst: 25}

// Admitted counts a request whose key has proved genuine. It belongs into
// control.Settings, so that the limit bites before anything is said of the
// workspace. What did not come through this package (a delivery) passes.
func Admitted(ctx context.Context, _ access.KeyRecord) error { return ratelimit.Admitted(ctx) }

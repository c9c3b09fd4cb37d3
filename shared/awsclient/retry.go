package awsclient

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"svc.example/svc/shared/backoff"
)

// How often and how long a request is tried: at most some 1.5 seconds are spent
// waiting.
const Attempts = 6

var waits = backoff.Backoff{First: 20 * time.Millisecond, Max: 500 * time.Millisecond}

// NewRetryer tries again what one of these says may succeed the next time: with
// exponential back-off and full jitter. The client-wide budget of the SDK is
// off, since a burst of faults would use it up for everybody.
func NewRetryer(retryables ...retry.IsErrorRetryable) aws.Retryer {
	return retry.NewStandard(func(r *retry.StandardOptions) {
		r.MaxAttempts = Attempts
		r.MaxBackoff = waits.Max
		r.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return wait(attempt), nil })
		r.RateLimiter = ratelimit.None
		r.Retryables = retryables
	})
}

func wait(attempt int) time.Duration { return waits.Delay(attempt) + time.Millisecond }

// Wait waits as long as a Retryer does after an attempt, counted from 1. It is
// false when the context ends before.
func Wait(ctx context.Context, attempt int) bool {
	pause := wait(attempt)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false
	}
	return backoff.Sleep(ctx, pause) == nil
}

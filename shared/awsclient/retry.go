package awsclient

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// How often and how long a request is tried: at most some 1.5 seconds are spent
// waiting.
const (
	Attempts    = 6
	firstWait   = 20 * time.Millisecond
	longestWait = 500 * time.Millisecond
)

// NewRetryer tries again what one of these says may succeed the next time: with
// exponential back-off and full jitter. The client-wide budget of the SDK is
// off, since a burst of faults would use it up for everybody.
func NewRetryer(retryables ...retry.IsErrorRetryable) aws.Retryer {
	return retry.NewStandard(func(r *retry.StandardOptions) {
		r.MaxAttempts = Attempts
		r.MaxBackoff = longestWait
		r.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return wait(attempt), nil })
		r.RateLimiter = ratelimit.None
		r.Retryables = retryables
	})
}

func wait(attempt int) time.Duration {
	return rand.N(min(longestWait, firstWait<<min(attempt, 10))) + time.Millisecond
}

// Wait waits as long as a Retryer does after an attempt, counted from 1. It is
// false when the context ends before.
func Wait(ctx context.Context, attempt int) bool {
	pause := wait(attempt)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc.example/svc/shared/awsclient"
)

var (
	// ErrRefused: a condition does not hold, and nothing was written.
	ErrRefused = errors.New("a condition of the write does not hold")
	// ErrUnknown: no answer tells how a transaction ended.
	ErrUnknown = errors.New("no answer tells how it ended")
)

// outcome is what an error says about an attempt.
type outcome int

const (
	done    outcome = iota // no error
	refused                // a condition does not hold: nothing was done
	busy                   // not now: nothing was done
	open                   // the answer is missing: it may have been done
	failed                 // it cannot be done: nothing was
)

// codes are the errors by which DynamoDB says something else than no.
var codes = map[string]outcome{
	"ConditionalCheckFailed":                 refused,
	"ConditionalCheckFailedException":        refused,
	"LimitExceededException":                 busy,
	"ProvisionedThroughputExceeded":          busy,
	"ProvisionedThroughputExceededException": busy,
	"ReplicatedWriteConflictException":       busy,
	"RequestLimitExceeded":                   busy,
	"RequestThrottled":                       busy,
	"RequestThrottledException":              busy,
	"SlowDown":                               busy,
	"Throttling":                             busy,
	"ThrottlingError":                        busy,
	"ThrottlingException":                    busy,
	"TooManyRequestsException":               busy,
	"TransactionConflict":                    busy,
	"TransactionConflictException":           busy,
	"TransactionInProgressException":         open,
}

func outcomeOf(err error) outcome {
	var cancelled *types.TransactionCanceledException
	var said smithy.APIError
	var answer *smithyhttp.ResponseError
	switch {
	case err == nil:
		return done
	case errors.As(err, &cancelled):
		return outcomeOfReasons(cancelled.CancellationReasons)
	case errors.As(err, &said) && codes[said.ErrorCode()] != done:
		return codes[said.ErrorCode()]
	case errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusTooManyRequests:
		return busy
	case errors.As(err, &answer) && answer.HTTPStatusCode() >= 500:
		return open
	case errors.As(err, &said) && said.ErrorFault() != smithy.FaultServer:
		return failed
	}
	return open // the connection, for example
}

// outcomeOfReasons goes by a transaction's worst item: a condition that does not
// hold counts more than being busy.
func outcomeOfReasons(reasons []types.CancellationReason) outcome {
	found := busy // a cancellation without a reason
	for _, r := range reasons {
		switch code := aws.ToString(r.Code); {
		case code == "" || code == "None":
		case codes[code] == done:
			return failed
		default:
			found = min(found, codes[code])
		}
	}
	return found
}

// perAttempt bounds one attempt.
const perAttempt = 3 * time.Second

var errTooSlow = errors.New("the table did not answer in time")

// openKey is the key of a context under which a bool is set when an attempt may
// have been carried out, though its answer did not say so.
type openKey struct{}

func persistent(o *dynamodb.Options) {
	o.Retryer = awsclient.NewRetryer(retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if v := outcomeOf(err); v == busy || v == open {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}), retry.RetryableError{})
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("BoundAttempt", boundAttempt), "Retry", middleware.After)
	})
}

func boundAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	bounded, cancel := context.WithTimeout(ctx, perAttempt)
	defer cancel()
	out, metadata, err := next.HandleFinalize(bounded, in)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &smithyhttp.RequestSendError{Err: errTooSlow}
	}
	if mayHaveBeenDone, noted := ctx.Value(openKey{}).(*bool); noted && outcomeOf(err) == open {
		*mayHaveBeenDone = true
	}
	return out, metadata, err
}

// Once is an option for a request that is not worth repeating.
func Once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// failure says what failed. It is busy when the same may succeed later, and the
// error of a context that has ended too.
func (t *Table) failure(ctx context.Context, what string, err error) error {
	switch ended := ctx.Err(); {
	case outcomeOf(err) == refused:
		return fmt.Errorf("%s: %w: %w", what, ErrRefused, err)
	case t.lost != nil && errors.As(err, new(*types.ResourceNotFoundException)):
		return fmt.Errorf("%s: %w: %w", what, t.lost, err)
	case outcomeOf(err) == failed:
		return fmt.Errorf("%s: %w", what, err)
	case ended != nil:
		return fmt.Errorf("%s: %w: %w: %w", what, t.busy, ended, err)
	}
	return fmt.Errorf("%s: %w: %w", what, t.busy, err)
}

// maxRounds is how often something is tried in which others may be faster.
const maxRounds = 10

// Again waits before something is tried again that did not succeed because of
// why. It fails when that was often enough: attempts are counted from 1.
func (t *Table) Again(ctx context.Context, what string, attempt int, why error) error {
	if attempt < maxRounds && awsclient.Wait(ctx, attempt) {
		return nil
	}
	return t.failure(ctx, what, why)
}

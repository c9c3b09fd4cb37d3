package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/repository"
)

// verdict is what an error says about a request.
type verdict int

const (
	done    verdict = iota // no error
	refused                // a condition does not hold: nothing was done
	busy                   // not now: nothing was done
	open                   // the answer is missing: it may have been done
	wrong                  // it cannot be done: nothing was
)

// codes are the errors by which DynamoDB says something else than no.
var codes = map[string]verdict{
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

func judge(err error) verdict {
	var cancelled *types.TransactionCanceledException
	var said smithy.APIError
	var answer *smithyhttp.ResponseError
	switch {
	case err == nil:
		return done
	case errors.As(err, &cancelled):
		return judgeReasons(cancelled.CancellationReasons)
	case errors.As(err, &said) && codes[said.ErrorCode()] != done:
		return codes[said.ErrorCode()]
	case errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusTooManyRequests:
		return busy
	case errors.As(err, &answer) && answer.HTTPStatusCode() >= 500:
		return open
	case errors.As(err, &said) && said.ErrorFault() != smithy.FaultServer:
		return wrong
	}
	return open // the connection, for example
}

// judgeReasons judges a transaction by its worst item: a condition that does
// not hold counts more than being busy.
func judgeReasons(reasons []types.CancellationReason) verdict {
	found := done
	for _, r := range reasons {
		if r.Code == nil || *r.Code == "None" {
			continue
		}
		v, known := codes[*r.Code]
		if !known {
			return wrong
		}
		if found == done || v < found {
			found = v
		}
	}
	if found == done {
		return busy // a cancellation without a reason
	}
	return found
}

const (
	maxTries = 10
	// perTry bounds one attempt, so that a connection that went dead does not
	// use up the time of the request.
	perTry = 3 * time.Second
)

var waits = backoff.Backoff{First: 20 * time.Millisecond, Max: 600 * time.Millisecond}

// pause waits before another try. It is false when there is to be none.
func pause(ctx context.Context, try int) bool {
	if try+1 >= maxTries {
		return false
	}
	wait := waits.Delay(try)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	return backoff.Sleep(ctx, wait) == nil
}

// once is one attempt.
func once[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, perTry)
	defer cancel()
	return ask(ctx)
}

// asked is for requests that may be repeated whatever became of them: reads,
// and writes that write the same once more.
func asked[T any](ctx context.Context, what string, ask func(context.Context) (T, error)) (T, error) {
	var none T
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return none, fmt.Errorf("%s: %w", what, err)
		}
		answer, err := once(ctx, ask)
		switch judge(err) {
		case done:
			return answer, nil
		case refused, wrong:
			return none, fmt.Errorf("%s: %w", what, err)
		}
		if !pause(ctx, try) {
			return none, gaveUp(ctx, what, err)
		}
	}
}

// gaveUp is ErrBusy, and also the error of a context that has ended.
func gaveUp(ctx context.Context, what string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s: %w: %w: %w", what, repository.ErrBusy, ended, err)
	}
	return fmt.Errorf("%s: %w: %w", what, repository.ErrBusy, err)
}

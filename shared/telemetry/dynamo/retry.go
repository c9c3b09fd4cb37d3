package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/telemetry"
)

// The codes of a transaction's items.
const (
	codeNone     = "None"
	codeRefused  = "ConditionalCheckFailed"
	codeConflict = "TransactionConflict"
)

// refusals says which items of a cancelled transaction did not meet their
// conditions. It is not ok when the error is another.
func refusals(err error) (refused []bool, ok bool) {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return nil, false
	}
	for _, reason := range cancelled.CancellationReasons {
		code := codeNone
		if reason.Code != nil {
			code = *reason.Code
		}
		switch code {
		case codeNone, codeRefused, codeConflict, "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return nil, false
		}
		refused = append(refused, code == codeRefused)
	}
	return refused, true
}

func isRefused(err error) bool {
	var refused *types.ConditionalCheckFailedException
	return errors.As(err, &refused)
}

// failure wraps an error; one that may pass is telemetry.ErrBusy too. The SDK
// has repeated the request by then.
func failure(ctx context.Context, what string, err error) error {
	var said smithy.APIError
	lasting := errors.As(err, &said) && said.ErrorFault() == smithy.FaultClient && !throttled[said.ErrorCode()]
	if lasting {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(fmt.Errorf("%s: %w: %w", what, telemetry.ErrBusy, err), ctx.Err())
}

// throttled are codes that say later and not no.
var throttled = map[string]bool{
	"ProvisionedThroughputExceededException": true, "RequestLimitExceeded": true, "ThrottlingException": true,
	"LimitExceededException": true, "TransactionConflictException": true, "TransactionInProgressException": true,
	"TransactionCanceledException": true, "ReplicatedWriteConflictException": true,
}

const maxTries = 12

var waits = backoff.Backoff{First: 5 * time.Millisecond, Max: 400 * time.Millisecond}

// pause waits before another try, unless there were too many.
func pause(ctx context.Context, try int) error {
	if try >= maxTries {
		return fmt.Errorf("%w: others were first %d times", telemetry.ErrBusy, try)
	}
	return waits.Wait(ctx, try)
}

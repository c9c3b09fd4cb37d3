package bucket

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"svc.example/svc/shared/awsclient"
)

var (
	// ErrBusy: the store is overloaded or cannot be reached; the same request
	// may succeed later. A write that ends so may have been done.
	ErrBusy = errors.New("the object store is busy")
	// ErrChanged: the object is no longer the version that was expected.
	ErrChanged = errors.New("the object has been changed")
)

// conflicts are answers to a conditional write that raced another one: nothing
// was written, and S3 wants to be asked again.
var conflicts = retry.RetryableErrorCode{Codes: map[string]struct{}{
	"ConditionalRequestConflict": {},
	"OperationAborted":           {},
}}

// cutOff is an answer that ends before its time: it cannot be decoded.
var cutOff = retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return aws.TrueTernary
	}
	return aws.UnknownTernary
})

var retryables = append([]retry.IsErrorRetryable{conflicts, cutOff}, retry.DefaultRetryables...)

var passing = retry.IsErrorRetryables(retryables)

func persistent(o *s3.Options) {
	o.Retryer = awsclient.NewRetryer(retryables...)
	o.DisableLogOutputChecksumValidationSkipped = true // ranged reads have none
}

// statusOf is the HTTP status that an error came with; 0 if it came with none.
func statusOf(err error) int {
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

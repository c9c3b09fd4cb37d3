package dynamo

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

func TestOutcomes(t *testing.T) {
	reasons := func(codes ...string) error {
		e := &types.TransactionCanceledException{}
		for _, c := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(c)})
		}
		return fmt.Errorf("operation error: %w", e)
	}
	api := func(code string, fault smithy.ErrorFault) error {
		return fmt.Errorf("operation error: %w", &smithy.GenericAPIError{Code: code, Fault: fault})
	}
	for _, test := range []struct {
		err  error
		want outcome
	}{
		{nil, done},
		{errors.New("connection reset"), open},
		{reasons("None", "ConditionalCheckFailed"), refused},
		{reasons("TransactionConflict", "ConditionalCheckFailed", "None"), refused},
		{reasons("TransactionConflict", "None"), busy},
		{reasons("ThrottlingError"), busy},
		{reasons("ProvisionedThroughputExceeded"), busy},
		{reasons("ValidationError", "ConditionalCheckFailed"), failed},
		{reasons("ItemCollectionSizeLimitExceeded"), failed},
		{reasons(), busy},
		{api("ThrottlingException", smithy.FaultClient), busy},
		{api("ProvisionedThroughputExceededException", smithy.FaultClient), busy},
		{api("RequestLimitExceeded", smithy.FaultClient), busy},
		{api("TransactionInProgressException", smithy.FaultClient), open},
		{api("InternalServerError", smithy.FaultServer), open},
		{api("ServiceUnavailable", smithy.FaultServer), open},
		{api("ResourceNotFoundException", smithy.FaultClient), failed},
		{api("ValidationException", smithy.FaultClient), failed},
		{api("AccessDeniedException", smithy.FaultClient), failed},
		{api("ExpiredTokenException", smithy.FaultClient), failed},
		{&types.ConditionalCheckFailedException{}, refused},
		{&types.InternalServerError{}, open},
		{&types.TransactionConflictException{}, busy},
	} {
		if got := outcomeOf(test.err); got != test.want {
			t.Errorf("%v is %d, want %d", test.err, got, test.want)
		}
	}
}

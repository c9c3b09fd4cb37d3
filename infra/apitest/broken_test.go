package apitest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/brokenstore"
)

// unconditional lets every transaction that moves the head go through: whoever
// comes late writes over what came between.
func unconditional(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Unconditional", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			if t, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
				for _, item := range t.TransactItems {
					// The condition is still there: a name that nothing uses is refused.
					const always = " OR attribute_exists(pk)" // once, however often it is tried
					if u := item.Update; u != nil && !strings.HasSuffix(aws.ToString(u.ConditionExpression), always) {
						u.ConditionExpression = aws.String("(" + aws.ToString(u.ConditionExpression) + ")" + always)
					}
				}
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
	})
}

// TestABrokenStoreIsCaught lets the same clients work on stores that are
// broken, and the same judges find it out.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func() harm
		by   brokenstore.Judges
	}{
		{"a table without its condition", func() harm {
			return harm{table: unconditional}
		}, brokenstore.Judges{Porcupine: true, History: true}},
		{"an authenticator with old news", func() harm {
			stale := new(brokenstore.Stale) // of all instances
			return harm{gate: func(t *dynamo.Table) control.Authenticator { return stale.Authenticator(t) }}
		}, brokenstore.Judges{Porcupine: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			brokenstore.Caught(t, test.by, func() apiload.Findings { return tryBroken(t, test.harm()) })
		})
	}
}

func tryBroken(t *testing.T, broken harm) apiload.Findings {
	t.Helper()
	h := create(t, apiload.Ground(), writers)
	l := apiload.New(t, h.serveInstances(t, broken))
	l.Run(background(t), apiload.Seed(t), h.keys, 10)
	l.Counts(t)
	return l.JudgeAll(t, h.copied(t))
}

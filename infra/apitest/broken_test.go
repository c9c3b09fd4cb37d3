package apitest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	rows "svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/brokenstore"
)

// unconditional lets every transaction that moves the head go through: whoever
// comes late writes over what came between.
func unconditional(stack *middleware.Stack) error {
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
}

// forgetful makes a table that keeps no row of what was made once.
func forgetful(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Forgetful", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if t, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
			t.TransactItems = slices.DeleteFunc(t.TransactItems, func(i types.TransactWriteItem) bool {
				return i.Put != nil && strings.HasPrefix(rows.TextOf(i.Put.Item, rows.HashKey), "once/")
			})
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// hiding makes a table that does not always find what waits in the queue: its owner
// takes it for removed, and others commit it.
func hiding(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Hiding", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if read, ok := out.Result.(*dynamodb.BatchGetItemOutput); ok && err == nil {
			for table, items := range read.Responses {
				read.Responses[table] = slices.DeleteFunc(items, func(i row) bool {
					return strings.HasPrefix(rows.TextOf(i, rows.HashKey), "queue/") && rand.IntN(6) == 0
				})
			}
		}
		return out, metadata, err
	}), middleware.Before)
}

type row = map[string]types.AttributeValue

// outdated makes a table that now and then reads a head of before, which any of
// the instances has seen. Writes are safe with it, since they compare the head;
// reads are not.
func outdated() harm {
	var lock sync.Mutex
	var seen []row
	sequence := func(r row) int64 { return rows.NumberOf(r, "sequence") }
	tell := func(head row) row {
		lock.Lock()
		defer lock.Unlock()
		if len(seen) == 0 || sequence(seen[len(seen)-1]) < sequence(head) {
			seen = append(seen, head)
		}
		if rand.IntN(4) == 0 {
			return seen[max(0, len(seen)-6)]
		}
		return head
	}
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Outdated", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if read, ok := out.Result.(*dynamodb.BatchGetItemOutput); ok && err == nil {
				for _, items := range read.Responses {
					for i, item := range items {
						if item["commit"] != nil {
							items[i] = tell(item)
						}
					}
				}
			}
			return out, metadata, err
		}), middleware.Before)
	}
}

// TestABrokenStoreIsCaught lets the same clients work on stores that are
// broken, and the same judges find it out.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func() harm
		by   brokenstore.Judges
	}{
		{"a table without its condition", func() harm { return unconditional }, brokenstore.Judges{Porcupine: true, History: true}},
		{"a table that forgets keys", func() harm { return forgetful }, brokenstore.Judges{History: true}},
		{"a table that hides who waits", func() harm { return hiding }, brokenstore.Judges{History: true}},
		{"a table with old news", outdated, brokenstore.Judges{Porcupine: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			brokenstore.Caught(t, test.by, func() apiload.Findings { return tryBroken(t, test.harm()) })
		})
	}
}

func tryBroken(t *testing.T, broken harm) apiload.Findings {
	t.Helper()
	h := create(t, apiload.Fixture(), writers)
	l := apiload.New(t, h.serveInstances(t, broken))
	l.Run(background(t), apiload.Seed(t), h.keys, 10)
	l.Counts(t)
	return l.JudgeAll(t, h.copied(t))
}

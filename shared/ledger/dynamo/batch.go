package dynamo

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	perBatch   = 25 // writes in one request
	batchWidth = 8  // requests at once
)

// putAll writes rows, in any order and not together. Writing them once more
// does no harm.
func (t *Table) putAll(ctx context.Context, items []item) error {
	writes := make([]types.WriteRequest, len(items))
	for n, i := range items {
		writes[n] = types.WriteRequest{PutRequest: &types.PutRequest{Item: i}}
	}
	return t.writeAll(ctx, writes)
}

// deleteAll removes the rows with the keys of items.
func (t *Table) deleteAll(ctx context.Context, items []item) error {
	writes := make([]types.WriteRequest, len(items))
	for n, i := range items {
		writes[n] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: own(i)}}
	}
	return t.writeAll(ctx, writes)
}

func (t *Table) writeAll(ctx context.Context, writes []types.WriteRequest) error {
	return each(ctx, batchWidth, slices.Collect(slices.Chunk(writes, perBatch)), t.writeBatch)
}

func (t *Table) writeBatch(ctx context.Context, writes []types.WriteRequest) error {
	const what = "writing rows"
	left := map[string][]types.WriteRequest{t.name: writes}
	for try := 0; len(left) > 0; try++ {
		out, err := asked(ctx, what, func(ctx context.Context) (*dynamodb.BatchWriteItemOutput, error) {
			return t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		})
		if err != nil {
			return err
		}
		if len(out.UnprocessedItems[t.name]) < len(left[t.name]) {
			try = 0 // it goes on
		}
		if left = out.UnprocessedItems; len(left) > 0 && !pause(ctx, try) {
			return gaveUp(ctx, what, errUnprocessed)
		}
	}
	return nil
}

// each does something with every part, several at a time, until one fails.
func each[T any](ctx context.Context, width int, parts []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	var failed sync.Once
	var failure error
	slots := make(chan struct{}, width)
	for _, part := range parts {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		working.Go(func() {
			defer func() { <-slots }()
			if err := do(ctx, part); err != nil {
				failed.Do(func() { failure = err })
				cancel(err)
			}
		})
	}
	working.Wait()
	if failure == nil {
		return context.Cause(ctx)
	}
	return failure
}

type attribute = types.AttributeValue

// question is a query of one partition.
type question struct {
	partition string
	low, high string // sort keys, both within
	newest    bool   // begin with the highest
	limit     int    // rows in all; 0 for no limit
	without   bool   // texts
}

// query calls for each row, until there are no more, or each says so.
func (t *Table) query(ctx context.Context, what string, q question, each func(item) (more bool, err error)) error {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!q.newest),
		KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{":pk": text(q.partition), ":low": text(q.low), ":high": text(q.high)},
	}
	if q.limit > 0 {
		in.Limit = aws.Int32(int32(min(q.limit, 1<<20)))
	}
	if q.without {
		in.ProjectionExpression = aws.String("pk, sk, c, x, n, p")
	}
	for {
		out, err := asked(ctx, what, func(ctx context.Context) (*dynamodb.QueryOutput, error) { return t.client.Query(ctx, in) })
		if err != nil {
			return err
		}
		for _, i := range out.Items {
			if more, err := each(i); err != nil || !more {
				return err
			}
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}

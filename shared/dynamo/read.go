package dynamo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// projection asks for some attributes; nil is all of them.
func projection(attributes []string) (list *string, names map[string]string) {
	if len(attributes) == 0 {
		return nil, nil
	}
	var all expression.ProjectionBuilder
	for _, a := range attributes {
		all = all.AddNames(expression.Name(a))
	}
	built, _ := expression.NewBuilder().WithProjection(all).Build() // names are constants
	return built.Projection(), built.Names()
}

// Get reads one row, with all its attributes or only some; nil when it is not
// there. It also tells the table's own time; it is zero when there is none.
func (t *Table) Get(ctx context.Context, what string, key Item, attributes ...string) (Item, time.Time, error) {
	in := &dynamodb.GetItemInput{TableName: &t.name, Key: key, ConsistentRead: aws.Bool(true)}
	in.ProjectionExpression, in.ExpressionAttributeNames = projection(attributes)
	out, err := t.client.GetItem(ctx, in)
	if err != nil {
		return nil, time.Time{}, t.failure(ctx, what, err)
	}
	now, _ := middleware.GetServerTime(out.ResultMetadata)
	return out.Item, now, nil
}

// perBatchGet is how many rows one request reads.
const perBatchGet = 100

var errUnprocessed = errors.New("the table left a part of the request undone")

// GetAll reads rows by their keys: those that are there, in no order. Up to 100
// are one request. It also tells the table's own time; it is zero when there is none.
func (t *Table) GetAll(ctx context.Context, what string, keys []Item, attributes ...string) (found []Item, now time.Time, err error) {
	var mu sync.Mutex
	err = each(ctx, slices.Chunk(keys, perBatchGet), func(ctx context.Context, keys []Item) error {
		asked := types.KeysAndAttributes{Keys: keys, ConsistentRead: aws.Bool(true)}
		asked.ProjectionExpression, asked.ExpressionAttributeNames = projection(attributes)
		for attempt := 1; ; attempt++ {
			out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{t.name: asked}})
			if err != nil {
				return t.failure(ctx, what, err)
			}
			mu.Lock()
			found = append(found, out.Responses[t.name]...)
			now, _ = middleware.GetServerTime(out.ResultMetadata)
			mu.Unlock()
			if asked.Keys = out.UnprocessedKeys[t.name].Keys; len(asked.Keys) == 0 {
				return nil
			}
			if err := t.Again(ctx, what, attempt, errUnprocessed); err != nil {
				return err
			}
		}
	})
	return found, now, err
}

// Query is about rows of one partition.
type Query struct {
	Partition  string
	Low, High  string // sort keys, both within; without Low and High all
	Newest     bool   // begin with the highest
	Limit      int    // rows in a request; 0 for no limit
	Attributes []string
}

// Query calls each for the rows, until there are no more, or it says so.
func (t *Table) Query(ctx context.Context, what string, q Query, each func(Item) (more bool, err error)) error {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(!q.Newest),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: Item{":pk": Text(q.Partition)},
	}
	if q.Low != "" || q.High != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND sk BETWEEN :low AND :high")
		in.ExpressionAttributeValues[":low"], in.ExpressionAttributeValues[":high"] = Text(q.Low), Text(q.High)
	}
	in.ProjectionExpression, in.ExpressionAttributeNames = projection(q.Attributes)
	pages := dynamodb.NewQueryPaginator(t.client, in, func(o *dynamodb.QueryPaginatorOptions) {
		o.Limit = int32(min(q.Limit, 1<<20))
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return t.failure(ctx, what, err)
		}
		for _, i := range page.Items {
			if more, err := each(i); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// perScan is how many rows one request of a scan looks at.
const perScan = 1000

// Scan calls each for the rows of all partitions whose names begin so, in no order. It
// reads the whole table for that, and so it is for an operator and for no request.
func (t *Table) Scan(ctx context.Context, what, prefix string, each func(Item) error) error {
	in := &dynamodb.ScanInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true), Limit: aws.Int32(perScan),
		FilterExpression: aws.String("begins_with(pk, :begin)"), ExpressionAttributeValues: Item{":begin": Text(prefix)},
	}
	for pages := dynamodb.NewScanPaginator(t.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return t.failure(ctx, what, err)
		}
		for _, i := range page.Items {
			if err := each(i); err != nil {
				return err
			}
		}
	}
	return nil
}

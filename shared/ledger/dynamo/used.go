package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
)

func usedPartition(ws access.ID) string { return "used/" + string(ws) }

// MarkUsed implements lastuse.Store: one request that is not repeated. The days
// lie apart from the keys, which the functions that read must not write.
func (t *Table) MarkUsed(ctx context.Context, workspace, key access.ID, day string) error {
	_, err := once(ctx, func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
		return t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &t.name, Key: keyOf(usedPartition(workspace), string(key)),
			UpdateExpression:          aws.String("SET d = :d"),
			ConditionExpression:       aws.String("attribute_not_exists(d) OR d < :d"),
			ExpressionAttributeValues: item{":d": text(day)},
		})
	})
	if known := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &known) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("noting the use of a key: %w", err)
	}
	return nil
}

// LastUses are the days on which keys were used last, as far as it was noted.
func (r *Registry) LastUses(ctx context.Context) (map[access.ID]string, error) {
	days := map[access.ID]string{}
	q := question{partition: usedPartition(r.workspace), low: "0", high: "~"}
	err := r.table.query(ctx, "reading the last uses of keys", q, func(i item) (bool, error) {
		days[access.ID(textOf(i, rangeKey))] = textOf(i, "d")
		return true, nil
	})
	return days, err
}

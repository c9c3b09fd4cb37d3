package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is a table. It is safe for concurrent use.
type Table struct {
	client *dynamodb.Client
	name   string
	busy   error
	lost   error // see WhenLost; nil: nothing
}

// New is about a table of a name, which need not exist yet. Busy is what errors
// wrap that may pass. How often a request is tried is decided here, whatever the
// client says.
func New(client *dynamodb.Client, name string, busy error) *Table {
	return &Table{client: dynamodb.New(client.Options(), persistent), name: name, busy: busy}
}

// WhenLost says, before the first use, what errors wrap when there is no such table, or not
// any more.
func (t *Table) WhenLost(as error) *Table {
	t.lost = as
	return t
}

const creation = 2 * time.Minute

// Create makes the table, unless it is there, and waits until it can be used.
func (t *Table) Create(ctx context.Context) error {
	_, err := t.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &t.name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(HashKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(RangeKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(HashKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(RangeKey), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil && !errors.As(err, new(*types.ResourceInUseException)) {
		return fmt.Errorf("creating the table %s: %w", t.name, err)
	}
	ready := dynamodb.NewTableExistsWaiter(t.client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, 5*time.Second
	})
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.name}, creation); err != nil {
		return fmt.Errorf("waiting for the table %s: %w", t.name, err)
	}
	return nil
}

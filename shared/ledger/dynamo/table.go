package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
)

// Table is a table with any number of workspaces. It is safe for concurrent
// use.
type Table struct {
	client *dynamodb.Client
	name   string
	// attributes are what Enter reads of a head, a principal and a key; nil is
	// everything.
	attributes []string
}

// New is about a table of a name, which need not exist yet. How often a request
// is tried is decided here: the client's own retries are switched off.
func New(client *dynamodb.Client, table string) *Table {
	once := dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	return &Table{client: once, name: table}
}

// WithoutSecret returns the table for those who need no workspace's secret:
// Enter does not read it, so that permissions can keep it from them.
func (t *Table) WithoutSecret() *Table {
	return &Table{client: t.client, name: t.name, attributes: openAttributes}
}

// Ledger returns the ledger of a workspace. Nothing is asked.
func (t *Table) Ledger(workspace access.ID) *Ledger {
	return &Ledger{table: t, workspace: workspace}
}

// Registry returns the keys, principals and the record of a workspace. Nothing
// is asked.
func (t *Table) Registry(workspace access.ID) *Registry {
	return &Registry{table: t, workspace: workspace}
}

const (
	hashKey  = "pk"
	rangeKey = "sk"

	creation = 2 * time.Minute
)

// Create makes the table, unless it is there, and waits until it can be used.
func (t *Table) Create(ctx context.Context) error {
	_, err := t.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &t.name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(hashKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(rangeKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(hashKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(rangeKey), KeyType: types.KeyTypeRange},
		},
	})
	var there *types.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
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

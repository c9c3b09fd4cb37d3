package dynamo_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/dynamo"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/telemetrytest"
)

// table makes an empty table with the keys of the ledger's.
func table(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := standin.Table(t, client)
	_, err := client.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange}},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 1 })
	if err := waiter.Wait(context.Background(), &dynamodb.DescribeTableInput{TableName: &name}, 1<<36); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestStore(t *testing.T) {
	client := standin.DynamoDBClient(t)
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		name := table(t, client)
		return func() telemetry.Store { return dynamo.New(client, name) }
	})
}

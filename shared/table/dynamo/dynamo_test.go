package dynamo_test

import (
	"testing"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/tabletest"
)

func TestTable(t *testing.T) {
	tabletest.Run(t, func(t *testing.T) func() table.Table {
		client := standin.DynamoDBClient(t)
		name := standin.Table(t, client)
		must.Do(t, dynamo.New(client, name, table.ErrBusy).Create(t.Context()))
		return func() table.Table { return tabledynamo.New(client, name) }
	})
}

package rows_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc.example/svc/shared/database"
	tables "svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/telemetrytest"
	"svc.example/svc/shared/testing/testenv"
)

// newTable makes an empty table with the keys of the ledger's.
func newTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	name := standin.Table(t, client)
	must.Do(t, tables.New(client, name, nil).Create(context.Background()))
	return name
}

func TestStore(t *testing.T) {
	client := standin.DynamoDBClient(t)
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		name := newTable(t, client)
		return func() telemetry.Store { return rows.New(dynamo.New(client, name), 0) }
	})
}

func TestStoreInAFile(t *testing.T) {
	testenv.Slow(t)
	telemetrytest.Run(t, func(t *testing.T) func() telemetry.Store {
		file := bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db")))
		return func() telemetry.Store { return rows.New(file, 0) }
	})
}

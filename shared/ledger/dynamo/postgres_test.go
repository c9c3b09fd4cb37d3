package dynamo_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/table/postgres"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// onPostgres makes a table in PostgreSQL.
func onPostgres(t *testing.T) *dynamo.Table {
	t.Helper()
	url, schema := standin.Postgres(t), standin.Name()
	conn := must.Get(pgx.Connect(background, url))(t)
	must.Get(conn.Exec(background, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize()))(t)
	must.Do(t, conn.Close(background))
	db := must.Get(postgres.Open(url, schema))(t)
	t.Cleanup(db.Close)
	must.Do(t, db.Migrate(background))
	return dynamo.Over(db)
}

func TestSuiteOnPostgres(t *testing.T) {
	table := onPostgres(t)
	ledgertest.Run(t, func(t *testing.T) ledgertest.Subject { return subject(table, newWorkspace(t, table)) })
}

func TestAuditOnPostgres(t *testing.T) {
	table := onPostgres(t)
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry { return table.Registry(newWorkspace(t, table)).By("Ada") })
}

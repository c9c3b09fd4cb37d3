package dynamo

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/repository"
)

// Table is a table with any number of workspaces. It is safe for concurrent
// use.
type Table struct {
	db *dynamo.Table
	// attributes are what Authenticate reads of a head, a principal and a key; nil is
	// everything.
	attributes []string
	// restoring is the token of who restores the one workspace that this is about; ""
	// is about all that are whole.
	restoring string
}

// New is about a table of a name, which need not exist yet. One that is lost may be
// restored, so that callers are told to come again.
func New(client *dynamodb.Client, table string) *Table {
	return &Table{db: dynamo.New(client, table, repository.ErrBusy).WhenLost(repository.ErrBusy)}
}

// WithoutSecret returns the table for those who need no workspace's secret:
// Authenticate does not read it, so that permissions can keep it from them.
func (t *Table) WithoutSecret() *Table { return &Table{db: t.db, attributes: openAttributes} }

// Ledger returns the ledger of a workspace. Nothing is asked.
func (t *Table) Ledger(workspace access.ID) *Ledger {
	return &Ledger{table: t, workspace: workspace}
}

// Registry returns the keys, principals and the record of a workspace. Nothing
// is asked.
func (t *Table) Registry(workspace access.ID) *access.Registry {
	return access.NewRegistry(&registry{table: t, workspace: workspace}, rand.Reader, time.Now)
}

// Create makes the table, unless it is there, and waits until it can be used.
func (t *Table) Create(ctx context.Context) error { return t.db.Create(ctx) }

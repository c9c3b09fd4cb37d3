package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
	tabledynamo "svc.example/svc/shared/table/dynamo"
)

// Table is a table with any number of workspaces. It is safe for concurrent
// use.
type Table struct {
	db     table.Table
	create func(context.Context) error
	// attributes are what Authenticate reads of a head, a principal and a key; nil is
	// everything.
	attributes []string
	// restoring is the token of who restores the one workspace that this is about; ""
	// is about all that are whole.
	restoring string
}

// New is about a table of a name, which need not exist yet. One that is lost may be
// restored, so that callers are told to come again.
func New(client *dynamodb.Client, name string) *Table {
	db := tabledynamo.New(client, name)
	return &Table{db: db, create: db.Create}
}

// Over is about a table of any kind.
func Over(db table.Table) *Table { return &Table{db: db} }

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

// Create makes the table in DynamoDB, unless it is there, and waits until it can be used.
func (t *Table) Create(ctx context.Context) error { return t.create(ctx) }

func put(row item, conditions ...table.Condition) table.Write {
	return table.Write{Key: row.Key, Put: row.Attributes, If: conditions}
}

func set(k table.Key, attributes table.Attributes, conditions ...table.Condition) table.Write {
	return table.Write{Key: k, Set: attributes, If: conditions}
}

func remove(k table.Key, conditions ...table.Condition) table.Write {
	return table.Write{Key: k, Delete: true, If: conditions}
}

func checked(k table.Key, conditions ...table.Condition) table.Write {
	return table.Write{Key: k, Check: true, If: conditions}
}

func puts(rows []item) (writes []table.Write) {
	for _, row := range rows {
		writes = append(writes, put(row))
	}
	return writes
}

func keysOf(rows []item) (keys []table.Key) {
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}

func removals(keys []table.Key) (writes []table.Write) {
	for _, k := range keys {
		writes = append(writes, remove(k))
	}
	return writes
}

// atOnce bounds the requests that are under way at a time.
const atOnce = 16

// writeEach makes changes, each by itself and several at a time, until one fails. That a
// condition does not hold is no failure.
func (t *Table) writeEach(ctx context.Context, writes []table.Write) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, w := range writes {
		group.Go(func() error {
			if _, err := t.db.Update(ctx, w); !errors.Is(err, table.ErrRefused) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// maxRounds is how often something is tried in which others may be faster.
const maxRounds = 10

var pause = backoff.Backoff{First: 50 * time.Millisecond, Max: 2 * time.Second}

// again waits before something is tried again that did not succeed because of why. It
// fails when that was often enough: attempts are counted from 1.
func again(ctx context.Context, attempt int, why error) error {
	if attempt < maxRounds && pause.Wait(ctx, attempt-1) == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", repository.ErrBusy, errors.Join(ctx.Err(), why))
}

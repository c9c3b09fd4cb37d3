package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// migrations lead from each version of the tables to the next; the first makes them.
var migrations = []string{`
	CREATE TABLE svc_rows (
		partition bytea NOT NULL,
		sort bytea NOT NULL,
		attributes bytea NOT NULL,
		expires bigint,
		PRIMARY KEY (partition, sort)
	);
	CREATE INDEX svc_rows_expires ON svc_rows (expires) WHERE expires IS NOT NULL`,
}

// ErrNewer: the tables are those of a newer svc.
var ErrNewer = errors.New("it takes the version of svc that migrated them, or a later one")

const noSuchTable = "42P01"

// Migrate makes the tables, or changes those of an older svc, unless they are as they
// should be. Several may call it at once. The schema itself has to be there.
func (t *Table) Migrate(ctx context.Context) error {
	return t.try(ctx, true, func(ctx context.Context, conn *pgx.Conn) error {
		// Who need not change anything need not be allowed to.
		switch version, err := t.version(ctx, conn); {
		case err != nil:
			return failed{err, false}
		case version > len(migrations):
			return fmt.Errorf("the database's tables are of version %d, and this svc knows versions up to %d: %w", version, len(migrations), ErrNewer)
		case version == len(migrations):
			return nil
		}
		if err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error { return t.migrate(ctx, tx) }); err != nil {
			return failed{err, false}
		}
		return nil
	})
}

// version is the version of the tables; 0 is none.
func (t *Table) version(ctx context.Context, conn interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (version int, err error) {
	err = conn.QueryRow(ctx, "SELECT version FROM "+pgx.Identifier{t.schema, "svc_schema"}.Sanitize()).Scan(&version)
	if said, answered := errors.AsType[*pgconn.PgError](err); answered && said.Code == noSuchTable {
		return 0, nil
	}
	return version, err
}

// migrate waits for whoever else does the same, and then sees what that one has done.
func (t *Table) migrate(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('svc ' || $1::text, 0))", t.schema); err != nil {
		return err
	}
	for _, sql := range []string{
		"SET LOCAL search_path = " + pgx.Identifier{t.schema}.Sanitize(),
		"CREATE TABLE IF NOT EXISTS svc_schema (version bigint NOT NULL)",
		"INSERT INTO svc_schema SELECT 0 WHERE NOT EXISTS (SELECT FROM svc_schema)",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	version, err := t.version(ctx, tx)
	if err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		// Several statements at once are for the simple protocol.
		if _, err := tx.Exec(ctx, migrations[version], pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("migrating to version %d: %w", version+1, err)
		}
	}
	_, err = tx.Exec(ctx, "UPDATE svc_schema SET version = greatest(version, $1::bigint)", len(migrations))
	return err
}
